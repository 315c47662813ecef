/**
 * Text from a file, a rank or another program is data wherever it is shown. One function for each place makes it so; nothing
 * else may put such text there.
 */
export { jsonText, safeJson } from './json';
export { markdownCode, markdownText } from './markdown';
export { shellQuoted, shellWord } from './shell';
export { terminalLine } from './terminal';
export { workbenchText } from './workbench';
export { workflowData, workflowProperty } from './workflow';
export { xmlText } from './xml';
