import { nearest } from '../../format/nearest';
import type { Sifted } from '../../ignores';
import { safeFix } from '../fixes';
import type { Report, Rule } from '../rule';

export const unusedIgnore: Rule = {
  code: 'unused-ignore',
  severity: 'information',
  title: 'A layout-ignore comment that silences nothing',
  effect: 'the comment would hide a later mistake',
  what: 'A comment `# layout-ignore: code` names a rule that has nothing to say of its line, or that does not exist. A comment at the end of a line speaks of that line, one on a line of its own of the next line.',
  why: 'The mistake that the comment was written for is gone.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 2 # layout-ignore: dense-factorization
`,
};

/** What is said of comments that silence nothing. */
export function unusedReports(text: string, { unused }: Sifted, codes: readonly string[]): Report[] {
  return unused.map(({ ignore, code }) => {
    const near = codes.includes(code) ? null : nearest(code, codes);
    const whole = ignore.codes.length === 1;
    const at = ignore.span.start + text.slice(ignore.span.start, ignore.span.end).indexOf(code);
    const blank = text.slice(0, ignore.span.start).length - text.slice(0, ignore.span.start).trimEnd().length;
    return {
      message: codes.includes(code)
        ? `'${code}' says nothing here. Remove it from the comment.`
        : `There is no rule '${code}'. ${near ? `Did you mean ${near}?` : 'Remove it from the comment.'}`,
      span: { start: at, end: at + code.length },
      fixes: [
        near ? safeFix(`Change to ${near}`, [{ span: { start: at, end: at + code.length }, newText: near }]) : null,
        whole
          ? safeFix('Remove the comment', [
              {
                span: { start: ignore.span.start - blank, end: ignore.span.end },
                newText: text[ignore.span.start - blank] === '\n' ? '\n' : '',
              },
            ])
          : null,
      ],
    };
  });
}
