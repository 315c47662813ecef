import { FORMAT_VERSION } from '../../format/keys';
import { problemsOf } from '../../format/problems';
import { changeFix } from '../fixes';
import type { Rule } from '../rule';

export const unsupportedVersion: Rule = {
  code: 'unsupported-version',
  severity: 'error',
  title: 'Unknown version of the format',
  effect: 'the checker may misread the file',
  what: `\`layout\` is not ${FORMAT_VERSION}.`,
  why: 'A file of a later version may mean something else by the same keys.',
  failing: `layout: 2
world_size: 8
parallelism:
  tp: 2
`,
  *checkShape({ problems }) {
    for (const { version, span } of problemsOf(problems, 'unsupported-version')) {
      yield {
        message: `Version ${version} of the layout format is not supported. Use layout ${FORMAT_VERSION}.`,
        span,
        fixes: [changeFix('layout', { written: true, span }, FORMAT_VERSION)],
      };
    }
  },
};
