export { FAMILIES, type FamilyName } from '../frameworks/families';
export { checkLaunch } from './check';
export { type Difference, type Drift, driftBetween, shortName } from './drift';
export { type DriftFix, launchFix, layoutFix } from './fixes';
export { type LayoutData, layoutOf, layoutValues, layoutYaml } from './importedLayout';
export { launchFilesEdit, type Written, writeFlags } from './layoutEdits';
export type { LauncherSettings } from './layoutWriter';
export { handLine, type LaunchChange, type LaunchPatch, launchChange, launchPatch, unifiedDiff } from './patch';
export {
  type ImportOptions,
  type LaunchPlace,
  type LaunchReading,
  type LaunchValue,
  readLaunchFile,
} from './read';
export { HELD_LIMITS, LAUNCH_LIMITS, readLaunch, STARTS_NO_JOB } from './readWithin';
export { type ObservedCommand, parseObserved } from './sources/observedRun';
export { lastPart } from './sources/paths';
export type { ReadFile } from './sources/shell/interpreter';
export { type PatternElement, parsePattern } from './sources/shell/patterns';
export { SHELL_SCRIPT } from './sources/shell/startedScripts';
export {
  EXPORT_TARGETS,
  type ExportTarget,
  exportErrors,
  exportLayout,
  isRecordedTarget,
  RECORDED_TARGETS,
} from './write';
export { effectiveValue, layoutFileValues, layoutNodeValues } from './writtenValues';
