import { z } from 'zod';
import { smokeOutput } from '../jobs/smokeResult';
import { verificationOutput } from '../jobs/trace/verification';
import { CHECKPOINT_FORMATS, CHECKPOINT_PARTS } from '../layout';
import { diagnosticOutput } from '../layout/format/diagnosticOutput';
import { file, moduleName, type Plain, ranks, whole } from '../layout/outputParts';

/** The version of the outputs below. A version gains fields; a field that goes or changes makes another version. */
const VERSION = 1;

const ok = (what: string) => z.boolean().describe(what);
const reason = z.string().optional().describe('Why not, where `ok` is false.');

/** What is printed in place of the output where there is none. */
const failure = z.object({ ok: z.literal(false), error: z.string().describe('The reason.') });

const checkedFile = z.object({
  file,
  ok: ok('Whether the file could be read and has no diagnostic of severity `error`.'),
  findings: z.array(diagnosticOutput),
  error: z.string().optional().describe('Why the file could not be used at all.'),
});

const statistics = z.object({
  code: z.string(),
  severity: z.enum(['error', 'warning', 'information']).describe('The most severe of its diagnostics.'),
  count: whole,
  files: whole.describe('In how many files.'),
  title: z.string(),
});

const groups = z.object({
  file,
  ok: ok('Whether the layout has no errors; without, there are no groups.'),
  error: reason,
  world_size: whole.nullable(),
  groups: z
    .array(
      z.object({
        name: z.string().describe('The name of the process group, such as `dp_cp`.'),
        module: moduleName,
        direction: z.enum(['fan_in', 'fan_out', 'equal']).optional().describe('Of a bridge between modules.'),
        scale: whole.optional().describe('Of a bridge: ranks on one side for each on the other.'),
        bytes_per_step: whole
          .optional()
          .describe('What a rank sends in a step in groups of this name alone, where the file says enough.'),
        ranks: z.array(ranks).describe('Each group, in creation order.'),
      }),
    )
    .describe('In the order in which Megatron-LM creates them, those of one rank among them.'),
});

const stages = z.object({
  file,
  ok: ok('Whether the layers of each stage are known.'),
  error: reason,
  stages: z.array(
    z.object({
      module: moduleName,
      pp: whole,
      vpp: whole,
      layers: z.array(z.string()).describe('`embedding`, `t0`, `t1`, ..., `mtp0`, ..., `loss`.'),
    }),
  ),
  weight_updates: z
    .array(
      z.object({
        phase: z.string(),
        engine: z.string(),
        gpus: whole.describe('Of all engines.'),
        gpus_per_engine: whole,
        own_gpus: z.boolean().describe('Whether the engines have GPUs of their own, whose ranks count from 0.'),
        bytes: z
          .number()
          .nullable()
          .describe('All weights once, in 16 bits; null where the sizes of the model are not known.'),
        senders: z
          .array(z.object({ rank: whole, stage: whole.nullable(), bytes: z.number().nullable() }))
          .nullable()
          .describe(
            'Ranks that broadcast; empty where every rank gathers for the engine on its GPU, null where that is not known.',
          ),
        engine_ranks: z
          .array(
            z.object({
              rank: whole,
              bytes: z.number().nullable().describe('What it keeps.'),
              held_by: z.array(whole).describe('The ranks of the trainer that hold it: of equal replicas the first.'),
            }),
          )
          .describe('Of the first engine; empty where they cannot be told.'),
      }),
    )
    .optional()
    .describe('How the engines of a reinforcement-learning job get new weights, a phase each.'),
});

const tokens = z.array(z.tuple([whole, whole])).describe('Half-open ranges of token positions.');

const sequence = z.object({
  file,
  ok: ok('Whether the file describes a sequence that its ranks can share.'),
  error: reason,
  ranks: z.array(
    z.object({ module: z.string().optional(), cp_rank: whole, tp_rank: whole, embeddings: tokens, labels: tokens }),
  ),
});

const splits = z.array(z.array(whole)).optional();

const ntp = z.object({
  file,
  ok: ok('Whether the layout has no errors and, where shards are given, they can be shared.'),
  error: reason,
  tp_spares: whole,
  active: z
    .array(z.object({ dp: whole, cp: whole, pp: whole, local_ranks: ranks }))
    .describe('The slots of each reduced slice that go on.'),
  spares: ranks.describe('Ranks that leave.'),
  groups: z.array(z.object({ name: z.string(), ranks })).describe('Groups that replace those of the full layout.'),
  dp_sync_conflicts: z
    .array(z.object({ group: ranks, syncing: ranks, kept_not_syncing: ranks, exited: ranks }))
    .describe('Data-parallel groups that would hang.'),
  send_splits: splits.describe('With --num-shards: what each slot sends to each other slot.'),
  recv_splits: splits.describe('With --num-shards: what each slot receives from each other slot.'),
});

const interval = z.tuple([z.number(), z.number()]).describe('Nine of ten measured jobs lie within.');

const estimated = z.object({
  file,
  ok: z.literal(true),
  memory: z.object({
    gpu_bytes: z.number().nullable().describe('Of one GPU; null where its kind is not known.'),
    per_stage: z.array(
      z.object({
        module: z.string().optional(),
        stage: whole,
        states_bytes: whole,
        activations_bytes: whole,
        communicators_bytes: whole.describe("NCCL's own memory, beside the peak."),
        peak_bytes: whole.describe("The peak of torch's allocator."),
        interval,
        total_bytes: whole.describe('What the GPU must have: the peak and the communicators.'),
        total_interval: interval,
      }),
    ),
  }),
  traffic: z
    .array(
      z.object({
        module: z.string().optional(),
        group: z.string(),
        carries: z.string(),
        collective: z.string(),
        bytes_per_step: whole.describe('What one rank sends in one optimizer step.'),
        times_per_step: z.number(),
        tier: z.string().describe('`nvlink`, or the network.'),
      }),
    )
    .describe('Groups of one rank carry nothing and are left out.'),
  pipeline: z
    .object({ microbatches: z.number(), bubble: z.number().describe('The idle share of a step, from 0 to 1.') })
    .nullable(),
  step_time_s: z
    .object({ median: z.number(), interval })
    .nullable()
    .describe('Seconds of one optimizer step; null where the kind of GPU is not known.'),
  missing: z.array(z.string()).describe('Keys that would narrow the estimate.'),
  assumed: z.array(z.string()),
  measured: z
    .object({
      step_time_s: z.number().nullable(),
      peak_bytes: whole.nullable(),
      time_over_estimate: z.number().nullable(),
      memory_over_estimate: z.number().nullable(),
    })
    .optional()
    .describe('Of the run whose log `--measured` names.'),
  failures: z
    .array(
      z.object({
        answer: z.enum(['drop-replicas', 'nonuniform-tp', 'spare-nodes']),
        compute_kept: z.number().min(0).max(1).nullable().describe('Null where the layout does not allow this answer.'),
        idle_gpus: whole,
        gpu_hours_a_day: whole.describe('GPU-hours a day that do no training.'),
      }),
    )
    .optional()
    .describe('With `--failed-gpus`, for `parallelism`: each failed GPU in another replica, which is the worst case.'),
});

const estimate = z.union([
  estimated,
  z.object({
    file,
    ok: z.literal(false),
    error: reason,
    missing: z.array(z.string()).describe('Keys without which there is none.'),
  }),
]);

const plannedLayout = z.object({
  gpus: whole,
  gpu: z.string(),
  degrees: z.object({ tp: whole, cp: whole, pp: whole, vpp: whole, dp: whole, ep: whole, expt_tp: whole }),
  micro_batch_size: whole,
  microbatches: whole,
  recompute: z.enum(['none', 'selective', 'full']),
  step_time_s: z.number(),
  step_time_interval: interval,
  tokens_per_second_per_gpu: z.number(),
  total_bytes: whole.describe('What the fullest GPU must have.'),
  total_interval: interval,
  group: whole.describe('Layouts of one group are as quick as one another; 0 of the present layout.'),
  why: z.string(),
  needs: z.array(z.string()).describe('Keys beside the degrees that the layout takes.'),
  is_present: z.boolean().describe('Whether this is the layout of the file, which comes last.'),
  layout: z.string().describe('The whole layout file.'),
});

/** A value of a layout file or launch file. */
const value = z.unknown();
const source = z
  .union([z.object({ file: z.string(), line: whole.describe('From 1.') }), z.enum(['default', 'unknown'])])
  .describe('The line that says so, the default of the framework, or nothing.');

const imported = z.object({
  file,
  family: z.string().nullable().describe('The family of the launch file; null where it is of no supported family.'),
  layout: z.record(z.string(), z.unknown()).nullable().describe('The layout, as its file would be read.'),
  values: z.array(
    z.object({
      key: z.string().describe('A path such as `parallelism.tp`.'),
      value: value.describe('Null where it is not known.'),
      source,
      looked_for: z.string().optional().describe('What was looked for, where the value is not known.'),
    }),
  ),
  unmapped: z
    .array(z.object({ name: z.string(), value: z.string().nullable(), line: whole.nullable() }))
    .describe('Settings that layouts have no key for.'),
  notes: z.array(z.string()),
  error: z.string().optional().describe('Why the file could not be used at all.'),
});

const drift = z.object({
  layout: file,
  launch: file,
  family: z.string(),
  ok: ok('Whether nothing differs.'),
  differences: z.array(
    z.object({
      key: z.string(),
      layout: z.object({ value, line: whole.nullable() }),
      launch: z.object({ value, source }),
      message: z.string(),
    }),
  ),
  unknown: z.array(z.object({ key: z.string(), looked_for: z.string() })),
});

const bytes = z.number().min(0).describe('Bytes.');

const checkpoint = z.object({
  module: z.string().nullable(),
  format: z.enum(CHECKPOINT_FORMATS),
  optimizer_sharding: z.string().nullable(),
  parts: z.array(
    z.object({
      part: z.enum(CHECKPOINT_PARTS),
      outcome: z
        .enum(['loads', 'after', 'lost', 'unknown'])
        .describe('`after`: once one of the ways is taken; `lost`: the job starts without it.'),
      because: z.string(),
      predicts: z.string().nullable().describe('What the framework says, word for word.'),
      ways: z.array(z.object({ what: z.string(), command: z.string() })),
      source: z.string(),
      proof: z.enum(['run', 'read']).describe('Whether such a pair was loaded, or the source was read.'),
    }),
  ),
  transfer: z
    .object({
      weights_bytes: bytes.describe('Of the checkpoint, every weight once.'),
      states_bytes: bytes.describe('Of the checkpoint, the states of every weight once.'),
      stages: z
        .array(z.object({ weights_bytes: bytes, states_bytes: bytes }))
        .describe('What a rank of each pipeline stage reads.'),
      rank_bytes: bytes.describe('Of the rank that reads most.'),
      all_ranks_bytes: bytes,
      network_bytes_per_second: z.number().nullable().describe('Of one GPU; null where it is not known.'),
      network_is_measured: z.boolean().describe('By `cluster.network_bandwidth`, or else assumed of the GPU.'),
      seconds: z.number().nullable().describe('The least time, if the storage keeps up with the network.'),
      node_memory_bytes: bytes.describe('Main memory of a node that optimizer states take while they are read.'),
      converter_memory_bytes: bytes.describe('Main memory of the host that runs `tools/checkpoint/convert.py`.'),
    })
    .nullable()
    .describe('What it takes to load; null where a size is not known.'),
  readers: z
    .array(z.object({ rank: whole, reads_from: ranks }))
    .nullable()
    .optional()
    .describe(
      'Of each rank that loads the ranks that saved what it reads, of equal replicas the first; null where that is not known.',
    ),
});

const score = z
  .object({
    memory_bytes: bytes.describe('What the fullest rank needs of its GPU, with communicators.'),
    memory_interval: interval,
    gpu_bytes: bytes.nullable().describe('What the GPU has; null where it is not known.'),
    step_time_s: z.number().nullable().describe('Seconds of one optimizer step; null where it is not known.'),
    step_time_interval: interval.nullable(),
    nvlink_bytes: bytes.describe('What a rank sends over NVLink in a step.'),
    network_bytes: bytes.describe('What a rank sends over the network in a step.'),
    bubble: z.number().nullable().describe('Share of the step in which a pipeline stage waits.'),
    tokens_per_second_per_gpu: z.number().nullable(),
    mfu: z.number().nullable().describe('Share of the peak of the GPUs, without what is computed again.'),
  })
  .meta({ id: 'score' });

const keyValue = z.string().nullable().describe('Null where the layout lacks the key.');

const compare = z.object({
  before: file,
  after: file,
  same: z.boolean().describe('Whether no key, no rank and no process group differs.'),
  headline: z.string().describe('`tp 8 → 4: memory 31 → 44 GiB, step 5.9 → 4.8 s, network +3.1 GB`.'),
  world_size: z.tuple([whole, whole]),
  keys: z
    .array(z.object({ key: z.string(), before: keyValue, after: keyValue }))
    .describe('Every key whose value differs; a key that is left out has its default.'),
  scores: z
    .array(z.object({ module: moduleName, before: score.nullable(), after: score.nullable() }))
    .describe('What each module costs, by estimate; null where that is not known.'),
  changes: z.array(z.string()).describe('In words: `tp 4 → 2, dp 4 → 8`.'),
  ranks: z
    .object({ same: whole, peers: whole, coordinates: whole, absent: whole })
    .describe('How many ranks are the same, have other peers, have other coordinates, are in one layout only.'),
  checkpoint: z
    .array(checkpoint)
    .optional()
    .describe('With `--checkpoint`: what of a checkpoint of the first layout the second one can load.'),
});

const resize = z.object({
  file,
  gpus_before: whole,
  gpus_available: whole,
  global_batch_size: whole.nullable().describe('Sequences a step of the layout that is resized.'),
  layouts: z
    .array(
      plannedLayout.extend({
        global_batch_size: whole
          .nullable()
          .describe('Sequences a step: those of the layout that is resized, or others.'),
        idle_gpus: whole.describe('GPUs that are there and do no work.'),
        checkpoint: z.array(checkpoint).describe('What of a checkpoint of the old layout loads.'),
        launch_patch: z
          .string()
          .nullable()
          .describe('A unified diff of the launch files that the layout names; null where none can be read.'),
        by_hand: z
          .array(z.object({ key: z.string(), before: z.string().nullable(), after: z.string().nullable() }))
          .describe('Changed keys that the patch does not write, with their values; null where a layout has none.'),
      }),
    )
    .describe('Those that keep the batch, the quickest first; then those that change it, the nearest batch first.'),
  loss: z
    .object({
      nodes: whole,
      replicas: whole,
      of_replicas: whole,
      idle_gpus: whole,
      nonuniform_tp_idle_gpus: whole.nullable().describe('Null where nonuniform TP cannot take the nodes out.'),
    })
    .nullable()
    .describe('What the loss of nodes does to the layout as it is: replicas that stop, and GPUs that they leave idle.'),
  exclusion: z
    .object({
      slurm: z.string().describe('An option of `sbatch`.'),
      kubernetes: z.string().describe('A field of the spec of a pod, as YAML.'),
    })
    .nullable()
    .describe('Keeps the scheduler off the nodes; null where they are not named.'),
});

const explained = z.object({
  kind: z.enum(['rule', 'key', 'group', 'gpus']),
  name: z.string(),
  severity: z.enum(['error', 'warning', 'information']).optional().describe('Of a rule.'),
  title: z.string().optional().describe('Of a rule.'),
  markdown: z.string().optional().describe('The page; left out in the list of all rules.'),
});

const smoke = z.object({ version: z.literal(VERSION), file, cluster: z.string(), ...smokeOutput.shape });

const smokeDryRun = z.object({
  version: z.literal(VERSION),
  file,
  cluster: z.string(),
  host: z.string().nullable().describe('Where the command runs, to which ssh copies its files; null: this machine.'),
  backend: z.enum(['auto', 'nccl', 'gloo']),
  world_size: whole,
  checks: z.array(z.string()),
  notes: z.array(z.string()).describe('What to know about the run, a sentence each.'),
  groups: z
    .array(z.object({ kind: z.string(), groups: whole, ranks: whole.describe('Of the largest group.') }))
    .describe('The process groups of more than one rank, by kind in the order of creation.'),
  command: z.array(z.string()).describe('What starts the run; no shell reads it.'),
  files: z.array(z.object({ path: z.string(), text: z.string() })).describe('What it reads beside plan and job.'),
  plan: z.looseObject({}).describe('All that the job knows of the layout: schemas/smoke-plan.schema.json.'),
  script: z.string().describe('The whole run as a shell script, as the text format prints it.'),
});

/** What a command prints with `--format json`. */
const OUTPUTS = {
  check: z.array(checkedFile).describe('An element a file; a line of `--format jsonl` is one element.'),
  'check-statistics': z.array(statistics).describe('An element a rule that fired, the most frequent first.'),
  groups: z.array(groups).describe('An element a file; a line of `--format jsonl` is one element.'),
  stages: z.array(stages).describe('An element a file; a line of `--format jsonl` is one element.'),
  sequence: z.array(sequence).describe('An element a file; a line of `--format jsonl` is one element.'),
  ntp: z.array(ntp).describe('An element a file; a line of `--format jsonl` is one element.'),
  estimate: z.array(estimate).describe('An element a file; a line of `--format jsonl` is one element.'),
  plan: z
    .array(plannedLayout)
    .describe('The layouts that fit, the quickest first; a line of `--format jsonl` is one element.'),
  resize: z.union([resize, failure]),
  import: imported.describe('One line a file.'),
  drift: z.array(drift).describe('An element a launch file.'),
  compare: z.union([compare, failure]),
  verify: z.union([verificationOutput, failure]),
  explain: z.array(explained).describe('The pages of one name, or all rules.'),
  smoke,
  'smoke-dry-run': smokeDryRun,
} as const;

/** What the tools of the Model Context Protocol give, where they do not fail: objects, one file each. */
export const TOOL_OUTPUTS = {
  check: checkedFile,
  groups,
  stages,
  compare,
  estimate: estimated,
  plan: z.object({ layouts: z.array(plannedLayout) }),
  resize,
  verify: verificationOutput,
  explain: z.object({ pages: z.array(explained) }),
  import: imported,
  drift,
} as const;

/** A command whose `--format json` has a published schema. */
export type OutputName = keyof typeof OUTPUTS;

/** What a command prints with `--format json`: what makes it has this type, which leaves nothing of the schema in a bundle. */
export type Output<N extends OutputName> = Plain<z.infer<(typeof OUTPUTS)[N]>>;

/** What a command that prints one element for each of several things prints of one. */
export type OutputItem<N extends OutputName> = Output<N> extends readonly (infer Item)[] ? Item : never;

/** What `check --format jsonl` prints of one file. */
export type FileReport = OutputItem<'check'>;

export const OUTPUT_NAMES = Object.keys(OUTPUTS) as readonly OutputName[];

/**
 * The JSON schema of what a command prints with `--format json`.
 * @param closed whether fields that it does not name are refused: a version may gain some, so published schemas allow them
 */
export function outputSchema(command: OutputName, closed = false): object {
  const { $schema, ...schema } = z.toJSONSchema(OUTPUTS[command], {
    io: closed ? 'output' : 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) {
        delete jsonSchema.maximum;
      }
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) {
        delete jsonSchema.minimum;
      }
    },
  });
  return {
    $schema,
    $id: `https://raw.githubusercontent.com/parallelism-layout/parallelism-layout/main/schemas/${command}.schema.json`,
    title: `parallelism-layout ${command.replace('-', ' --')} --format json, version ${VERSION}`,
    ...schema,
  };
}
