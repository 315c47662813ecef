import { job, type Rule } from '../rule';

/** Front ends report it, as they read the launch files (`layout/outside.ts`). */
export const launchDrift: Rule = {
  code: 'launch-drift',
  severity: 'warning',
  title: 'A layout and a launch file that it names differ',
  effect: 'the job that starts is not the one that the layout describes',
  what: 'A file under `launch.files` gives another value than the layout. Defaults of the framework and of the layout count; a value that the launch file leaves unknown does not. The editor shows the difference in both files, `parallelism-layout check` on the layout; `parallelism-layout drift` exits with 1. A comment on the line of the layout silences it in both, or on that of `launch.files` where the layout does not write the key.',
  why: 'A job is started from its script, and read, checked and estimated by its layout.',
  failing: job(16, 'tp: 4, pp: 2', 'launch: {family: megatron-lm, files: [train.sh]}'),
  passing: job(16, 'tp: 8, pp: 2', 'launch: {family: megatron-lm, files: [train.sh]}'),
  sources: [],
  beside: {
    file: 'train.sh',
    text: 'torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --pipeline-model-parallel-size 2\n',
    said: '3:19: warning[launch-drift]: train.sh says tp 8 (--tensor-model-parallel-size, line 1); this layout says tp 4.',
  },
};
