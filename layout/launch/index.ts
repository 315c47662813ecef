export { FAMILIES, type FamilyName } from '../frameworks/families';
export { type Difference, type Drift, driftBetween, lastPart, shortName } from './drift';
export { type DriftCase, type DriftFix, launchFix, layoutFix } from './driftFixes';
export { type LayoutData, layoutOf, layoutValues, layoutYaml } from './importedLayout';
export { checkLaunch, type LaunchDiagnostic } from './launchDiagnostics';
export { handLine, type LaunchChange, type LaunchPatch, launchChange, launchPatch, unifiedDiff } from './launchPatch';
export {
  type ImportOptions,
  type LaunchPlace,
  type LaunchReading,
  type LaunchValue,
  readLaunchFile,
  readLaunchFileAsync,
} from './launchReading';
export type { LauncherSettings } from './layoutWriter';
export { HELD_LIMITS, LAUNCH_LIMITS, readLaunch, STARTS_NO_JOB } from './reader';
export { parseRecord, type RecordedCommand } from './recordedRun';
export type { ReadFile } from './shell/interpreter';
export { type PatternElement, parsePattern } from './shell/patterns';
export { SHELL_SCRIPT } from './shell/startedScripts';
export {
  EXPORT_TARGETS,
  type Exported,
  type ExportTarget,
  exportErrors,
  exportLayout,
  isRecordedTarget,
  RECORDED_TARGETS,
} from './write';
export { launchFilesEdit, type Written, writeFlags } from './writeValues';
export { effectiveValue, type LayoutValue, layoutFileValues, layoutNodeValues } from './writtenValues';
