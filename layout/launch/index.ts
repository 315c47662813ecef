export { type LayoutData, layoutOf, layoutValues, layoutYaml } from './document';
export { type Difference, type Drift, driftBetween } from './drift';
export { EXPORT_TARGETS, type Exported, type ExportTarget, exportLayout } from './export';
export { FAMILIES, type FamilyName } from './family';
export {
  type ImportOptions,
  type LaunchPlace,
  type LaunchReading,
  type LaunchValue,
  readLaunchFile,
  readLaunchFileAsync,
} from './import';
export { effectiveValue, type LayoutValue, layoutFileValues } from './layout-values';
export type { ReadFile } from './shell/interpreter';
