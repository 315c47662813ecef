/**
 * Text from a file, a rank or another program is data wherever it is shown. One function for each place makes it so; nothing
 * else may put such text there.
 */
export { unsafeCharactersIn, visible, visibleLines } from './characters';
export { csvCell } from './csv';
export { withoutJoiners } from './joiners';
export { jsonText, safeJson } from './json';
export { code, Markdown, markdown, markdownText } from './markdown';
export { isPlainPatch, patchName } from './patch';
export { pythonText } from './python';
export { posixQuoted, shellQuoted, shellWord } from './shell';
export { terminalLine, terminalLines } from './terminal';
export { workbenchText } from './workbench';
export { workflowData, workflowProperty } from './workflow';
export { xmlText } from './xml';
export { yamlText } from './yaml';
