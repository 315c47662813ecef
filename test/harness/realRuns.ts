import { readEvidence, type Verdict, type Verification, verify } from '../../jobs';
import { soundLayout } from './layouts';

const FOLDER = 'test/golden/data/flight';

/** What `verify` finds in the dumps, RAS answers and logs of a real NCCL job with Megatron-LM's own groups. */
export function verifiedRun(
  scenario: string,
  parallelism: string,
  files: readonly string[] = [''],
  worldSize = 4,
): Verification {
  const text = `layout: 1\nworld_size: ${worldSize}\nparallelism: {${parallelism}}\nmodel: {num_experts: 4}\n`;
  const checked = soundLayout(text);
  return verify(
    'run.layout.yaml',
    checked,
    readEvidence(
      files.map((file) => `${FOLDER}/${scenario}/${file}`),
      checked.resolved,
    ),
  );
}

/** World size, layout, verdict and culprits of what `tools/flight` has run on GPUs shared by several ranks. */
export const SHARED: Readonly<Record<string, readonly [number, string, Verdict, readonly number[]]>> = {
  'healthy-tp2dp2': [4, 'tp: 2', 'healthy', []],
  'healthy-ep2pp2dp2': [4, 'pp: 2, ep: 2', 'healthy', []],
  'healthy-tp2pp2dp2': [8, 'tp: 2, pp: 2', 'healthy', []],
  'mapping-cp2tp2': [4, 'tp: 2, cp: 2', 'wrong-groups', []],
  'mapping-tp2pp2dp2': [8, 'tp: 2, pp: 2', 'wrong-groups', []],
  'sleep-tp2pp2dp2-r5': [8, 'tp: 2, pp: 2', 'hang', [5]],
  'sleep-tp4dp2-r6': [8, 'tp: 4', 'hang', [6]],
  'sleep-dp-tp2dp2-r1': [4, 'tp: 2', 'hang', [1]],
  'sleep-ep-ep2dp4-r1': [4, 'ep: 2', 'hang', [1]],
  'spin-pp4-r2': [4, 'pp: 4', 'hang', [2]],
  'spin-send-pp4-r1': [4, 'pp: 4', 'hang', [1]],
  'two-sleeps-tp2dp4': [8, 'tp: 2', 'hang', [3, 4]],
  'stop-tp2dp2-r2': [4, 'tp: 2', 'lost', [2]],
  'stop-pp2dp2-r1': [4, 'pp: 2', 'lost', [1]],
  'stop-ep2dp4-r3': [4, 'ep: 2', 'lost', [3]],
  // rank 7 waits for rank 2 before it comes to its own fault
  'stop-two-tp2pp2dp2': [8, 'tp: 2, pp: 2', 'lost', [2]],
  'kill-tp2dp2-r2': [4, 'tp: 2', 'lost', [2]],
  'segv-tp2dp2-r1': [4, 'tp: 2', 'lost', [1]],
  'raise-pp2dp2-r3': [4, 'pp: 2', 'lost', [3]],
  'order-tp4-r1': [4, 'tp: 4', 'mismatch', [1]],
  'order-tp2dp2-r0': [4, 'tp: 2', 'mismatch', [0]],
  'swap-tp2cp2-r3': [4, 'tp: 2, cp: 2', 'mismatch', [3]],
  'skip-tp2dp2-r1': [4, 'tp: 2', 'mismatch', [1]],
  'skip-dp-tp2dp2-r3': [4, 'tp: 2', 'mismatch', [3]],
  'skip-ep-ep2dp4-r2': [4, 'ep: 2', 'mismatch', [2]],
  'skip-send-pp2dp2-r0': [4, 'pp: 2', 'mismatch', [0]],
  'shape-tp2dp2-r2': [4, 'tp: 2', 'mismatch', [2]],
  'shape-instead-tp2pp2dp2-r6': [8, 'tp: 2, pp: 2', 'mismatch', [6]],
  'op-tp2dp2-r2': [4, 'tp: 2', 'mismatch', [2]],
  'op-instead-tp4-r0': [4, 'tp: 4', 'mismatch', [0]],
  'group-tp2dp2-r0': [4, 'tp: 2', 'mismatch', [0]],
  'sleep-and-shape-tp2dp4': [8, 'tp: 2', 'mismatch', [1, 6]],
  'wrapped-sleep-pp4-r1': [4, 'pp: 4', 'hang', [1]],
  'overlap-sleep-tp2dp2-r3': [4, 'tp: 2', 'hang', [3]],
  'stop-tp2cp2-r2': [4, 'tp: 2, cp: 2', 'lost', [2]],
  'kill-pp4-r2': [4, 'pp: 4', 'lost', [2]],
  'raise-tp2cp2-r1': [4, 'tp: 2, cp: 2', 'lost', [1]],
  'exit-tp2pp2-r3': [4, 'tp: 2, pp: 2', 'lost', [3]],
  'short-send-pp4-r1': [4, 'pp: 4', 'mismatch', [1]],
  'short-recv-pp2dp2-r2': [4, 'pp: 2', 'mismatch', [2]],
};

/** The same of jobs of four ranks with a GPU each. */
export const GIVEN: typeof SHARED = {
  'healthy-tp2dp2': [4, 'tp: 2', 'healthy', []],
  'mapping-pp2dp2': [4, 'pp: 2', 'wrong-groups', []],
  'sleep-tp2dp2-r2': [4, 'tp: 2', 'hang', [2]],
  'order-tp2dp2-r3': [4, 'tp: 2', 'mismatch', [3]],
  'shape-tp2dp2-r2': [4, 'tp: 2', 'mismatch', [2]],
};
