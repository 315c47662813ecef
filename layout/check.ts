import type { Finding, Fix, Severity } from './finding';
import { changeBetween } from './format/change';
import { applyEdits } from './format/edit';
import { MAX_FINDINGS, MAX_MESSAGE, MAX_PREDICTION } from './format/limits';
import { LineIndex } from './format/lines';
import { grouped } from './format/quantities';
import { type KnownFields, type ReadLayout, readLayout } from './format/read';
import { reparse } from './format/reparse';
import { firstLine, parseTree, type Tree } from './format/tree';
import { once } from './once';
import { CleanGrids, Visit } from './rules/clean';
import { RULES } from './rules/registry';
import { findingOf, type Rule } from './rules/rule';
import { fileTooLarge } from './rules/shape';
import { type KnownModules, type LayoutFacts, layoutFacts } from './topology/facts';
import { resolveLayout } from './topology/resolve';
import type { ResolvedLayout } from './topology/resolved';

/** All that is known of one layout file. */
export interface Checked {
  readonly text: string;
  readonly lines: LineIndex;
  readonly read: ReadLayout;
  /** What the rules read; null where the file could not be read as a map. */
  readonly facts: LayoutFacts | null;
  /** In the order of the file. */
  readonly findings: readonly Finding[];
  /** The layout with every number known; null where an error leaves a number open. */
  readonly resolved: ResolvedLayout | null;
}

/**
 * Reads a layout file and applies every rule. Never throws; its cost does not grow with the number of ranks.
 * @param text the whole file
 */
export function check(text: string): Checked {
  return checked(text, parseTree(text), new LineIndex(text), null);
}

/**
 * Checks one file again and again while it is edited. What `check` says of a text it says too, but it looks only at what
 * changed since the last time: at the block that was edited, at the grids in it, and at the file as a whole.
 */
export class Checker {
  #last: Checked | null = null;
  readonly #memory: Memory = { fields: new WeakMap(), modules: new WeakMap(), clean: new CleanGrids() };

  /**
   * What is known of the file now. What an earlier call returned for another text is built into it, and holds no more.
   * @param text the whole file
   */
  check(text: string): Checked {
    if (this.#last?.text !== text) {
      const { tree, lines } = this.#parsed(text);
      this.#last = checked(text, tree, lines, this.#memory);
    }
    return this.#last;
  }

  #parsed(text: string): { tree: Tree; lines: LineIndex } {
    if (!this.#last) {
      return { tree: parseTree(text), lines: new LineIndex(text) };
    }
    const { text: before, lines, read } = this.#last;
    const change = changeBetween(before, text);
    return {
      tree: reparse({ text: before, tree: read.tree }, text, change) ?? parseTree(text),
      lines: new LineIndex(text, { lines, change }),
    };
  }
}

/** What stays known of the parts of a file that do not change. */
interface Memory {
  readonly fields: KnownFields;
  readonly modules: KnownModules;
  readonly clean: CleanGrids;
}

function checked(text: string, tree: Tree, lines: LineIndex, memory: Memory | null): Checked {
  const read = readLayout(text, tree, memory?.fields);
  const facts =
    read.root && tree.root ? layoutFacts(text, read.root, tree.root.span, read.tooSmall, memory?.modules) : null;
  const findings = listed(text, allFindings(read, facts, memory?.clean ?? null));
  findings.sort((a, b) => a.span.start - b.span.start || a.span.end - b.span.end);
  return { text, lines, read, facts, findings, resolved: facts && resolveLayout(facts) };
}

function* allFindings(read: ReadLayout, facts: LayoutFacts | null, clean: CleanGrids | null): Iterable<Finding> {
  yield* read.findings;
  if (facts) {
    const visit = new Visit(facts, clean?.of(facts) ?? null);
    for (const rule of RULES) {
      yield* firstOf(rule, facts, visit);
    }
    visit.end();
  }
}

/**
 * The findings of one rule; of a rule that warns, one more than are listed, as others would be made for nothing. A rule
 * that reports errors is never cut short: one alone decides whether a file passes.
 */
function* firstOf(rule: Rule, facts: LayoutFacts, visit: Visit): Iterable<Finding> {
  let count = 0;
  for (const finding of findingsOf(rule, facts, visit)) {
    yield finding;
    if (++count > MAX_FINDINGS && rule.severity !== 'error') {
      visit.cutShort();
      return;
    }
  }
}

function* findingsOf(rule: Rule, facts: LayoutFacts, visit: Visit): Iterable<Finding> {
  for (const report of rule.check?.(facts) ?? []) {
    yield findingOf(rule, report);
  }
  for (const report of rule.checkGrids?.(visit.grids) ?? []) {
    visit.found(report.span);
    yield findingOf(rule, report);
  }
}

/** The first `MAX_FINDINGS` of every severity; one more finding says where there would be others. */
function listed(text: string, findings: Iterable<Finding>): Finding[] {
  const kept: Finding[] = [];
  const counts = { error: 0, warning: 0, information: 0 };
  for (const finding of findings) {
    const count = ++counts[finding.severity];
    if (count <= MAX_FINDINGS) {
      kept.push(clipped(finding));
    } else if (count === MAX_FINDINGS + 1) {
      kept.push(moreFindings(text, finding.severity));
    }
    if (counts.error > MAX_FINDINGS) {
      break;
    }
  }
  return kept;
}

/** The finding with texts that can be shown: they quote names of the file, and a name may be as long as a file. */
function clipped(finding: Finding): Finding {
  const { message, predicts, related, fixes } = finding;
  const isShort = ({ length }: string) => length <= MAX_MESSAGE;
  const short =
    isShort(message) &&
    (predicts ?? '').length <= MAX_PREDICTION &&
    related.every((place) => isShort(place.message)) &&
    fixes.every(({ title }) => isShort(title));
  if (short) {
    return finding;
  }
  return {
    ...finding,
    message: clip(message),
    predicts: predicts && clip(predicts, MAX_PREDICTION),
    related: related.map((place) => ({ ...place, message: clip(place.message) })),
    fixes: fixes.map((fix) => ({ ...fix, title: clip(fix.title) })),
  };
}

function clip(text: string, most = MAX_MESSAGE): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function moreFindings(text: string, severity: Severity): Finding {
  const most = grouped(MAX_FINDINGS);
  const message = `More than ${most} findings of severity ${severity} stand against this file; the first ${most} are listed. Mend these first.`;
  return { code: fileTooLarge.code, severity, message, span: firstLine(text), related: [], predicts: null, fixes: [] };
}

/** Whether a finding of severity `error` stands against the file. */
export function hasErrors({ findings }: Checked): boolean {
  return findings.some(({ severity }) => severity === 'error');
}

/**
 * Whether a fix holds: applied, the finding is gone and no error is new. Costs a check of the mended text. Nobody can say
 * so of a file with more errors than are listed: none of its fixes holds.
 */
export function isSound(checked: Checked, { code }: Finding, { edits }: Fix): boolean {
  const before = tallyOf(checked);
  if (before.errors > MAX_FINDINGS) {
    return false;
  }
  const after = tally(trialsOf(checked).check(applyEdits(checked.text, edits)).findings);
  const gone = (after.codes.get(code)?.all ?? 0) < (before.codes.get(code)?.all ?? 0);
  return gone && [...after.codes].every(([one, { errors }]) => errors <= (before.codes.get(one)?.errors ?? 0));
}

/** The checker that tries the fixes of a file, each of which changes a place or two. */
const trialsOf = once((_: Checked) => new Checker());

/** How much text is checked anew to try the fixes of a whole report, in UTF-16 units: a second or two of work. */
const MAX_TRIED = 8 * 1024 * 1024;

/**
 * The fixes of one file's findings that hold, for a report of all of them. Where a long file has many, those that have not
 * been tried when the work is used up are left out.
 */
export class SoundFixes {
  #left = MAX_TRIED;

  constructor(readonly checked: Checked) {}

  /** Whether work is left to try another fix. */
  get canTry(): boolean {
    return this.#left > 0;
  }

  /** The fixes of one of the file's findings that hold, in the order of the finding. */
  of(finding: Finding): Fix[] {
    return finding.fixes.filter((fix) => this.#try(finding, fix));
  }

  #try(finding: Finding, fix: Fix): boolean {
    if (!this.canTry) {
      return false;
    }
    this.#left -= this.checked.text.length;
    return isSound(this.checked, finding, fix);
  }
}

/** How many errors there are; and how often each code is reported, and how often as an error. */
interface Tally {
  readonly errors: number;
  readonly codes: ReadonlyMap<string, { readonly all: number; readonly errors: number }>;
}

/** The tally of a file, counted once for all of its fixes. */
const tallyOf = once(({ findings }: Checked) => tally(findings));

function tally(findings: readonly Finding[]): Tally {
  const codes = new Map<string, { all: number; errors: number }>();
  let errors = 0;
  for (const { code, severity } of findings) {
    const count = codes.get(code) ?? { all: 0, errors: 0 };
    count.all++;
    count.errors += severity === 'error' ? 1 : 0;
    errors += severity === 'error' ? 1 : 0;
    codes.set(code, count);
  }
  return { errors, codes };
}
