import type { Diagnostic, Severity } from './diagnostic';
import { visible, visibleLines } from './escape';
import { MAX_CUT_TEXT, MAX_DIAGNOSTICS, MAX_FILE_TEXTS, MAX_MESSAGE, MAX_PREDICTION } from './format/limits';
import { LineIndex } from './format/lines';
import { grouped } from './format/quantities';
import { type ReadLayout, readLayout } from './format/read';
import { firstLine } from './format/tree';
import { frameworkOf } from './frameworks';
import { holds, isOwnRule } from './frameworks/heldRules';
import { ALWAYS_SAID, ignoresOf, sift } from './ignores';
import { RULES, ruleOf } from './rules/registry';
import { MEGATRON_LM, type Report, type Rule, toDiagnostic } from './rules/rule';
import { fileTooLarge } from './rules/shape/file-too-large';
import { openedFields } from './rules/shape/meaning';
import { unusedIgnore, unusedReports } from './rules/shape/unused-ignore';
import { NO_LEVELS, type RuleLevels } from './service';
import { type LayoutFacts, layoutFacts } from './topology/facts';
import { resolveLayout } from './topology/resolve';
import type { ResolvedLayout } from './topology/resolved';
import { versionOf, wordsOf } from './topology/versions';

/** The codes of all rules. */
const CODES = RULES.map(({ code }) => code);

/**
 * Whether a diagnostic follows from the text of a layout alone: other files keep no layout from running, and whether a comment that
 * silences a rule on them is used is not known here.
 */
export const isOfText = ({ code }: { readonly code: string }): boolean => !ruleOf(code)?.beside;

/** What a layout file says, before any rule judges it. */
export interface Understood {
  readonly text: string;
  readonly lines: LineIndex;
  readonly read: ReadLayout;
  /** What the rules read; null where the file could not be read as a map. */
  readonly facts: LayoutFacts | null;
  /** The layout with every number known; null where an error leaves a number open. */
  readonly resolved: ResolvedLayout | null;
}

/** All that is known of one layout file. */
export interface Checked extends Understood {
  /** The severities that replaced the rules' own. */
  readonly levels: RuleLevels;
  /** In the order of the file. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads a layout file and works out its numbers, without applying a rule. Never throws. */
export function understand(text: string): Understood {
  const read = readLayout(text);
  const facts = read.root && layoutFacts(read, openedFields(read, read.root));
  return { text, lines: new LineIndex(text), read, facts, resolved: facts && resolveLayout(facts) };
}

/**
 * Reads a layout file and applies every rule. Never throws; its cost does not grow with the number of ranks.
 * @param text the whole file
 * @param levels severities other than the rules' own; rules that say that a file cannot be read keep theirs
 */
export function check(text: string, levels: RuleLevels = NO_LEVELS): Checked {
  const understood = understand(text);
  const { lines, read, facts } = understood;
  const sifted = sift(listed(text, allDiagnostics(read, facts)), ignoresOf(text, lines, read.tree.root), lines);
  const unused = unusedReports(text, { ...sifted, unused: sifted.unused.filter(isOfText) }, CODES).slice(
    0,
    MAX_DIAGNOSTICS,
  );
  const diagnostics = [...sifted.said, ...unused.map((report) => toDiagnostic(unusedIgnore, report))]
    .flatMap((diagnostic) => weighed(diagnostic, levels))
    .sort((a, b) => a.span.start - b.span.start || a.span.end - b.span.end);
  return { ...understood, levels, diagnostics };
}

/** A diagnostic with the severity that replaces its rule's own; none where the rule is off. */
export function weighed(diagnostic: Diagnostic, levels: RuleLevels): Diagnostic[] {
  const level = ALWAYS_SAID.has(diagnostic.code) ? undefined : levels.get(diagnostic.code);
  return level === 'off' ? [] : [level === undefined ? diagnostic : { ...diagnostic, severity: level }];
}

/** Whether a diagnostic of severity `error` stands against the file. */
export function hasErrors({ diagnostics }: Pick<Checked, 'diagnostics'>): boolean {
  return diagnostics.some(({ severity }) => severity === 'error');
}

/**
 * The diagnostics of all rules. A rule that warns stops after one more than are listed; a rule that reports errors does not, as
 * its last report may be the only error of the file.
 */
function* allDiagnostics(read: ReadLayout, facts: LayoutFacts | null): Iterable<Diagnostic> {
  for (const [rule, reports] of allReports(read, facts)) {
    let count = 0;
    for (const report of reports) {
      yield inWords(facts, toDiagnostic(rule, report));
      if (++count > MAX_DIAGNOSTICS && rule.severity !== 'error') {
        break;
      }
    }
  }
}

function* allReports(read: ReadLayout, facts: LayoutFacts | null): Iterable<readonly [Rule, Iterable<Report>]> {
  for (const rule of RULES) {
    if (rule.checkShape) {
      yield [rule, rule.checkShape(read)];
    }
  }
  const framework = read.root && frameworkOf(read.root);
  for (const rule of RULES) {
    if (facts && rule.check && holds(rule.code, framework)) {
      yield [rule, rule.check(facts)];
    }
  }
}

/** The first `MAX_DIAGNOSTICS` of every severity; one more diagnostic says where there would be others. */
function listed(text: string, diagnostics: Iterable<Diagnostic>): Diagnostic[] {
  const shown: Diagnostic[] = [];
  const counts = { error: 0, warning: 0, information: 0 };
  let texts = 0;
  for (const diagnostic of diagnostics) {
    const count = ++counts[diagnostic.severity];
    if (count <= MAX_DIAGNOSTICS) {
      const short = clipped(diagnostic, SHOWN);
      const kept = texts + textLength(short) <= MAX_FILE_TEXTS ? short : clipped(short, CUT);
      texts += textLength(kept);
      shown.push(kept);
    } else if (count === MAX_DIAGNOSTICS + 1) {
      shown.push(moreDiagnostics(text, diagnostic.severity));
    }
    if (counts.error > MAX_DIAGNOSTICS) {
      break;
    }
  }
  return shown;
}

/** How much of a diagnostic's texts is kept, in characters, and how many related places and fixes. */
interface TextLimits {
  readonly message: number;
  readonly prediction: number;
  readonly places: number;
}

/** Texts quote names of the file, and a name may be as long as a file. */
const SHOWN: TextLimits = { message: MAX_MESSAGE, prediction: MAX_PREDICTION, places: Number.POSITIVE_INFINITY };

/** What is kept once the texts of a file exceed `MAX_FILE_TEXTS` together. */
const CUT: TextLimits = { message: MAX_CUT_TEXT, prediction: MAX_CUT_TEXT, places: 1 };

function clipped(diagnostic: Diagnostic, { message: most, prediction, places }: TextLimits): Diagnostic {
  const { message, predicts, related, fixes } = diagnostic;
  return {
    ...diagnostic,
    message: clip(message, most),
    predicts: predicts && clip(predicts, prediction, visibleLines),
    related: related.slice(0, places).map((place) => ({ ...place, message: clip(place.message, most) })),
    fixes: fixes.slice(0, places).map((fix) => ({ ...fix, title: clip(fix.title, most) })),
  };
}

/** The beginning of a text as it is safe to show anywhere: an editor lists it as it comes. */
function clip(text: string, most: number, safe = visible): string {
  const shown = safe(text.slice(0, most + 1));
  return shown.length > most ? `${shown.slice(0, most)}…` : shown;
}

/** How many characters all texts of a diagnostic have. */
function textLength({ message, predicts, related, fixes }: Diagnostic): number {
  const of = (texts: readonly string[]) => texts.reduce((sum, { length }) => sum + length, 0);
  return of([message, predicts ?? '', ...related.map((place) => place.message), ...fixes.map(({ title }) => title)]);
}

function moreDiagnostics(text: string, severity: Severity): Diagnostic {
  const most = grouped(MAX_DIAGNOSTICS);
  const message = `This file has more than ${most} diagnostics of severity ${severity}; the first ${most} are listed. Fix these first.`;
  return toDiagnostic({ ...fileTooLarge, severity }, { message, span: firstLine(text) });
}

/** The diagnostic with its prediction in the words of the file's framework, or of its version of Megatron-LM. */
function inWords(facts: LayoutFacts | null, diagnostic: Diagnostic): Diagnostic {
  const { predicts } = diagnostic;
  if (facts?.framework?.rules.megatron === 'none' || isOwnRule(diagnostic.code)) {
    const { speaker } = diagnostic;
    return { ...diagnostic, speaker: speaker === MEGATRON_LM ? (facts?.framework?.title ?? speaker) : speaker };
  }
  return predicts === null || facts === null
    ? diagnostic
    : { ...diagnostic, predicts: wordsOf(predicts, versionOf(facts), facts.heterogeneous) };
}
