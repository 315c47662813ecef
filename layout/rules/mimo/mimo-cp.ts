import { LANGUAGE_MODULE } from '../../format/names';
import { changeFix } from '../fixes';
import { MIMO_ARGS, modules, type Rule } from '../rule';
import { isColocated, MIMO_CP } from './mimo';

export const mimoCp: Rule = {
  code: 'mimo-cp',
  severity: 'warning',
  title: 'Context parallelism in a job of modules',
  effect: 'the grids come up, but the training loop of examples/mimo stops',
  what: 'The language module has `cp` above 1 and does not share its ranks with encoders. It is an error in a file that says the sizes by `dp`, as the flags of examples/mimo do.',
  why: '`validate_hetero_grid_args` of examples/mimo accepts `cp` 1 only.',
  failing: modules(8, 'images: {num_ranks: 4, tp: 2}', 'language: {rank_offset: 4, num_ranks: 4, cp: 2}'),
  sources: [MIMO_ARGS],
  *check({ modules, heterogeneous, mimoFlags }) {
    const language = heterogeneous ? modules.find(({ name }) => name === LANGUAGE_MODULE) : undefined;
    // read as it is written: the script looks at it before anything else
    const cp = language?.fields.cp.value ?? 1;
    if (!language || cp === 1 || isColocated(modules, language)) {
      return;
    }
    const { span } = language.fields.cp;
    const tp = language.fields.tp.value ?? 1;
    yield {
      severity: mimoFlags ? 'error' : 'warning',
      message: `The training loop of examples/mimo runs with cp 1 only. Use cp 1, for instance with tp ${tp * cp}.`,
      span,
      predicts: MIMO_CP,
      fixes: [changeFix('cp', language.fields.cp, 1)],
    };
  },
};
