import type { Finding, Fix, Related, Severity, Span } from '../finding';
import type { LayoutFacts, SomeGrids } from '../topology/facts';

/** What a rule says when it fires; the rule itself adds its code and severity. */
export interface Report {
  readonly message: string;
  readonly span: Span;
  readonly related?: readonly Related[];
  readonly predicts?: string | null;
  readonly fixes?: readonly Fix[];
  /** Where one firing weighs differently from the rule's usual severity. */
  readonly severity?: Severity;
}

/** The documentation of a rule: the page `docs/rules/<code>.md` is built from it. */
export interface RuleDocs {
  /** A few words for a list of rules. */
  readonly title: string;
  /** When the rule fires. */
  readonly what: string;
  /** What would happen without it. */
  readonly why: string;
  /** A whole file on which exactly this rule fires. */
  readonly failing: string;
  /** The same file mended: no rule fires at `error` or `warning`. */
  readonly passing: string;
  /** Where Megatron-LM (or YAML, or torch) decides so. */
  readonly source: string;
}

/** One rule: its code, its weight, its page, and its checks. */
export interface Rule extends RuleDocs {
  readonly code: string;
  readonly severity: Severity;
  /** What it says of a file as a whole. The reader itself applies the rules on a file's shape. */
  readonly check?: (facts: LayoutFacts) => Iterable<Report>;
  /**
   * What it says of each grid by itself, at places inside that grid. It is called with the grids of which nobody knows yet
   * whether they are clean, and so looks at no other.
   */
  readonly checkGrids?: (grids: SomeGrids) => Iterable<Report>;
}

/** A report of a rule with the rule's code and weight. */
export function findingOf(rule: Rule, report: Report): Finding {
  return {
    code: rule.code,
    severity: report.severity ?? rule.severity,
    message: report.message,
    span: report.span,
    related: report.related ?? [],
    predicts: report.predicts ?? null,
    fixes: report.fixes ?? [],
  };
}
