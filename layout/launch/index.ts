export { type LayoutData, layoutOf, layoutValues, layoutYaml } from './document';
export { FAMILIES, type FamilyName } from './family';
export { type ImportOptions, type LaunchPlace, type LaunchReading, type LaunchValue, readLaunchFile } from './import';
export type { ReadFile } from './shell/interpreter';
