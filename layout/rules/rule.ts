import type { Diagnostic, Fix, Related, Severity, Span } from '../diagnostic';
import type { ReadLayout } from '../format/read';
import type { LayoutFacts } from '../topology/facts';

/** What a rule says when it fires; its code and severity are added to it. */
export interface Report {
  readonly message: string;
  /** The value (or key) at fault. */
  readonly span: Span;
  readonly related?: readonly Related[];
  /** The message of the error that Megatron-LM, or the framework that starts the job, would raise. */
  readonly predicts?: string | null;
  /** Whose words `predicts` are, where a rule of Megatron-LM has those of the framework in front of it. */
  readonly speaker?: string;
  /** The safest first; null stands for a fix that cannot be written into this file. */
  readonly fixes?: readonly (Fix | null)[];
  /** Where one firing weighs differently from the rule's usual severity. */
  readonly severity?: Severity;
}

/**
 * One rule: a file of its own, `layout/rules/<family>/<code>.ts`, with its test beside it. The page `docs/rules/<code>.md` is
 * built from it.
 */
export interface Rule {
  readonly code: string;
  readonly severity: Severity;
  /** A few words for a list of rules. */
  readonly title: string;
  /** What becomes of a job with such a file, in one clause that follows the severity; left out where Megatron-LM stops on every rank. */
  readonly effect?: string;
  /** When the rule fires. */
  readonly what: string;
  /** Why it matters. */
  readonly why: string;
  /** A whole file on which exactly this rule fires. */
  readonly failing: string;
  /** The same file put right: no rule fires at `error` or `warning`. Left out where the first fix of `failing` makes it. */
  readonly passing?: string;
  /** Where the behaviour is decided, as Markdown. */
  readonly sources: readonly string[];
  /** For a rule that another file decides: that file beside `failing`, and what is printed of the two. */
  readonly beside?: { readonly file: string; readonly text: string; readonly said: string };
  /** What the rule says of a file's shape, as far as the file could be read. */
  readonly checkShape?: (read: ReadLayout) => Iterable<Report>;
  /** What the rule says of a file that could be read as a map. */
  readonly check?: (facts: LayoutFacts) => Iterable<Report>;
}

/** Who speaks where a report does not say it. */
export const MEGATRON_LM = 'Megatron-LM';

/** A report of a rule with the rule's code and severity. */
export function toDiagnostic(rule: Rule, report: Report): Diagnostic {
  return {
    code: rule.code,
    severity: report.severity ?? rule.severity,
    message: report.message,
    span: report.span,
    related: report.related ?? [],
    predicts: report.predicts ?? null,
    speaker: report.speaker ?? MEGATRON_LM,
    fixes: (report.fixes ?? []).filter((fix) => fix !== null),
  };
}
