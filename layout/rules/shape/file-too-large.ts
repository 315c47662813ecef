import { MAX_DEPTH, MAX_DIAGNOSTICS, MAX_FULL_YAML, MAX_NODES, MAX_STRING, MAX_TEXT } from '../../format/limits';
import { problemsOf } from '../../format/problems';
import { grouped } from '../../format/quantities';
import { job, type Rule } from '../rule';

const DEEP = MAX_DEPTH + 1;

export const fileTooLarge: Rule = {
  code: 'file-too-large',
  severity: 'error',
  title: 'The file is too large to be checked',
  effect: 'the file is not checked',
  what: `The file has more than ${grouped(MAX_TEXT)} characters; or more than ${grouped(MAX_FULL_YAML)} and is not plain block YAML throughout (it has an anchor, a tag, a tab, a text or brackets over several lines, or a mistake, at the place of the diagnostic); or it nests more than ${MAX_DEPTH} levels deep; or its aliases stand for more than ${grouped(MAX_NODES)} values; or a text has more than ${grouped(MAX_STRING)} characters; or more than ${grouped(MAX_DIAGNOSTICS)} things are wrong with it.`,
  why: 'Every limit is far beyond any layout. Within them the checker answers at once on every keystroke, whatever the file holds; beyond them nothing is reported but this.',
  failing: `layout: 1
world_size: 8
parallelism: ${'['.repeat(DEEP)}${']'.repeat(DEEP)}
`,
  passing: job(8, 'tp: 2'),
  *checkShape({ tree: { problem }, problems }) {
    if (problem?.kind === 'too-large') {
      yield { message: problem.message, span: problem.span };
    }
    for (const { path, length, span } of problemsOf(problems, 'text-too-long')) {
      yield {
        message: `${path} has ${grouped(length)} characters; up to ${grouped(MAX_STRING)} are read. Shorten it.`,
        span,
      };
    }
  },
};
