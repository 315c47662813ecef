/** A half-open range of UTF-16 offsets into the text of a layout file. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * `error`: the job cannot start, hangs, or trains something else than the file says. `warning`: it runs, but slowly or not as
 * the author expects. `information`: a fact worth knowing.
 */
export type Severity = 'error' | 'warning' | 'information';

/** Replaces the text of `span` by `newText`; an empty span inserts. */
export interface Edit {
  readonly span: Span;
  readonly newText: string;
}

/**
 * `safe`: the author can have meant only this, so the fix may be applied unasked. `suggestion`: one of several ways out, or
 * one that changes what the file asks for; the author decides.
 */
export type Applicability = 'safe' | 'suggestion';

/** Applying all edits together leaves a file without the diagnostic that offers the fix. */
export interface Fix {
  readonly title: string;
  readonly applicability: Applicability;
  readonly edits: readonly Edit[];
}

/** Another place in the file that takes part in a diagnostic. */
export interface Related {
  readonly message: string;
  readonly span: Span;
}

/** What a rule reports of a file, as data; the server, the command line and the panel render it. */
export interface Diagnostic {
  /** The stable kebab-case code of the rule; its page is `docs/rules/<code>.md`. */
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  /** The value (or key) at fault. */
  readonly span: Span;
  readonly related: readonly Related[];
  /** The message of the error that the framework would raise, or null where it raises none. */
  readonly predicts: string | null;
  /** Whose words `predicts` are: `Megatron-LM`, or the framework that starts the job. */
  readonly speaker: string;
  /** The safest first. */
  readonly fixes: readonly Fix[];
}
