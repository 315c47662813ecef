import { z } from 'zod';
import { measuredRunOutput } from '../../layout/logs/measuredRunOutput';
import { file, type Plain, ranks, whole } from '../../layout/outputParts';

// in the layout's grid, such as `{"tp": 1, "dp": 0}`
const coordinates = z.record(z.string(), z.union([z.number(), z.string()]));

/** The result of `verify`, which is also its JSON output. */
export const verificationOutput = z.object({
  layout: file,
  sources: z.array(
    z.object({
      file: z.string(),
      kind: z.enum(['flight-recorder', 'ras', 'recorder', 'profile', 'log', 'other']),
      // null for files of several ranks
      rank: whole.nullable(),
      ok: z.boolean().describe('Whether all of it could be read.'),
      // what could not be read or was not used; empty for nothing
      note: z.string(),
    }),
  ),
  groups: z.object({
    equal: whole.describe('Groups of the run that are groups of the layout.'),
    different: z.array(
      z.object({
        // the layout's, after the module where there are modules: `language.tp`
        name: z.string(),
        // the layout's groups that hold these ranks, and the run's
        expected: z.array(ranks),
        actual: z.array(ranks),
        ranks,
        cause: z.string().nullable().describe('The change to the layout that would give the groups of the run.'),
        // of the layout file, from 1; null for none
        line: whole.nullable(),
      }),
    ),
    // groups of the run that the layout does not have
    unexpected: z.array(z.object({ name: z.string(), groups: z.array(ranks) })),
    // names of the layout without a group in the run: their communicators were not created yet, or never
    not_seen: z.array(z.string()),
  }),
  verdict: z.enum(['healthy', 'wrong-groups', 'hang', 'mismatch', 'lost', 'unknown']),
  // ranks that block others, differ from their peers, or are gone
  culprits: z.array(
    z.object({
      rank: whole,
      host: z.string().nullable(),
      gpu: whole.nullable(),
      pid: whole.nullable().describe('Of its process on the host.'),
      coordinates,
      // never more than the files support
      confidence: z.number().min(0).max(1),
      because: z.array(z.string()),
    }),
  ),
  // ranks that wait
  victims: z.array(z.object({ rank: whole, waits_for: ranks, group: z.string(), op: z.string(), seq: whole })),
  // an operation that the members of a group entered differently, and what each rank did
  mismatch: z
    .object({
      group: z.string(),
      seq: whole,
      what: z.enum(['op', 'size', 'dtype', 'order']),
      by_rank: z.record(z.string(), z.string()),
    })
    .nullable(),
  // sentences that explain the verdict and what is unknown
  why: z.array(z.string()),
  // the first 65,536
  unseen: ranks.describe('Ranks of which no file tells anything.'),
  measured: measuredRunOutput.nullable().describe('The speed and memory that logs report.'),
  profiled: z
    .object({
      ranks: z.array(
        z.object({
          rank: whole,
          step_s: z.number(),
          waiting_s: z.number().describe('For other ranks, of a step.'),
          busy_s: z.number(),
          computing_s: z.number().describe('In kernels that do not communicate.'),
        }),
      ),
      steps: whole.describe('How many steps were compared; 0 where the profiles do not number them.'),
      kinds: z.array(
        z.object({
          name: z.string(),
          time_s: z.number().describe('In operations of these groups, of a step; the mean of the ranks.'),
          waiting_s: z.number(),
          hidden_s: z.number().describe('Beside other work of the GPU.'),
          hideable_s: z.number().describe('The most of it that other work could hide.'),
          bus_gb_s: z.number().nullable().describe('GB/s while all members take part, as nccl-tests count them.'),
        }),
      ),
      // sentences about what is not known
      why: z.array(z.string()),
    })
    .nullable()
    .describe('Where the time goes, by the profiles of some ranks.'),
  // ranks that slow the run, the slowest first
  slow: z.array(
    z.object({
      rank: whole,
      coordinates,
      // the timer, or `matrix products` for the throughput that `--log-straggler` reports
      part: z.string(),
      ratio: z.number().describe('How much longer it takes than ranks with the same program.'),
      because: z.string(),
    }),
  ),
});

/** The result of `verify`. */
export type Verification = Plain<z.infer<typeof verificationOutput>>;

/** The verdict on a run. */
export type Verdict = Verification['verdict'];

/** One file of the run. */
export type SourceFile = Verification['sources'][number];

/** Groups of one name that differ, with the change to the layout that would give those of the run. */
export type ExplainedDifference = Verification['groups']['different'][number];

/** A rank that blocks others, differs from its peers, or is gone. */
export type Culprit = Verification['culprits'][number];

/** A rank that waits. */
export type Victim = Verification['victims'][number];

/** An operation that the members of a group entered differently. */
export type Mismatch = NonNullable<Verification['mismatch']>;

/** What the profiles of some ranks tell. Seconds a step. */
export type ProfiledRun = NonNullable<Verification['profiled']>;

/** A rank that takes longer in a part of a step than ranks with the same program. */
export type SlowRank = Verification['slow'][number];
