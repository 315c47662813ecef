import type { Severity, Span } from './diagnostic';
import type { Entry, Node } from './format/node';
import { firstLine, parseTree } from './format/tree';
import { ruleOf } from './rules/registry';

/** The file that says how the rules weigh for all layouts in its folder and below. */
export const CONFIGURATION = '.parallelism-layout.yaml';

/** The largest configuration that is read. Bytes. */
export const MAX_CONFIGURATION = 64 * 1024;

/** Severities that replace the rules' own, by code. */
export type RuleLevels = ReadonlyMap<string, Severity | 'off'>;

export const NO_LEVELS: RuleLevels = new Map();

/** What a configuration says, and what of it cannot be used. */
export interface Configuration {
  readonly levels: RuleLevels;
  readonly problems: readonly { readonly message: string; readonly span: Span }[];
}

const LEVELS = ['off', 'information', 'warning', 'error'] as const;

/** The severity of a rule, or what is wrong with it in words. */
function levelOf(code: string, value: unknown): Severity | 'off' | { readonly problem: string } {
  if (!ruleOf(code)) {
    return { problem: `there is no rule '${code}'` };
  }
  return LEVELS.find((one) => one === value) ?? { problem: `${code} must be off, information, warning or error` };
}

/** The severities in the settings of an editor, by code; what is no severity of a rule is passed over. */
export function levelsOfSettings(value: unknown): RuleLevels {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  const levels = (isMap ? Object.entries(value) : []).map(([code, level]) => [code, levelOf(code, level)] as const);
  return new Map(levels.flatMap(([code, level]) => (typeof level === 'object' ? [] : [[code, level]])));
}

/** Reads the text of a configuration. Never throws. */
export function readConfiguration(text: string): Configuration {
  const { root, problem } = parseTree(text);
  if (problem) {
    return { levels: NO_LEVELS, problems: [problem] };
  }
  if (root && root.kind !== 'map' && !isNothing(root)) {
    return { levels: NO_LEVELS, problems: [{ message: 'must be a map with the key rules', span: firstLine(text) }] };
  }
  const entries = root?.kind === 'map' ? root.entries : [];
  const others = entries.filter(({ key }) => key !== 'rules');
  const rules = entries.find(({ key }) => key === 'rules');
  const { levels, problems } = rules ? readRules(rules) : { levels: NO_LEVELS, problems: [] };
  const unknown = others.map(({ key, keySpan }) => ({ message: `has no key '${key}'; it has rules`, span: keySpan }));
  return { levels, problems: [...unknown, ...problems] };
}

function readRules({ keySpan, value }: Entry): Configuration {
  if (value.kind !== 'map') {
    const message = 'rules must be a map of codes to off, information, warning or error';
    return { levels: NO_LEVELS, problems: isNothing(value) ? [] : [{ message, span: keySpan }] };
  }
  const read = value.entries.map(({ key, keySpan: span, value: level }) => {
    return { code: key, span, level: levelOf(key, level.kind === 'scalar' ? level.value : undefined) };
  });
  return {
    levels: new Map(read.flatMap(({ code, level }) => (typeof level === 'object' ? [] : [[code, level]]))),
    problems: read.flatMap(({ level, span }) => (typeof level === 'object' ? [{ message: level.problem, span }] : [])),
  };
}

const isNothing = (node: Node): boolean => node.kind === 'scalar' && node.value === null;

/** The severities in force for a layout: those of a person's settings win over those of its project, rule by rule. */
export function levelsInForce(project: RuleLevels, settings: RuleLevels): RuleLevels {
  return new Map([...project, ...settings]);
}
