import { z } from 'zod';
import { moduleName, type Plain, ranks, whole } from '../layout/outputParts';

/** The fields of an event that say which process group it is about. */
const group = {
  group: whole.describe('The place in the order of creation.'),
  kind: z.string(),
  module: moduleName,
  idx: whole,
  // only the first of them where the line would be too long
  ranks,
};

const timed = z.object({ bytes: z.number(), ms: z.number().describe('Of the slowest rank.'), busGBs: z.number() });

/** The operations of one group, timed at one payload. */
const operations = {
  ...group,
  ops: z.record(z.string(), timed).describe('Over gloo, times of a processor: they say nothing of a network.'),
  skippedOps: z.record(z.string(), z.string()).describe('Operations that the backend cannot run, and why.'),
};

/** The outcome of a run, which is also the JSON output of `smoke`. */
export const smokeOutput = z.object({
  verdict: z.string().describe('`ok`, `cancelled`, the code of a fault, or `unknown`.'),
  ok: z.boolean().describe('Whether every process group passed.'),
  groups: z
    .array(z.object({ ...operations, ev: z.literal('group'), ok: z.literal(true), ms: z.number() }))
    .describe('The groups of more than one rank that passed.'),
  // at most one in a stream
  fault: z
    .object({
      ...z.object(group).partial().shape,
      ev: z.literal('fault'),
      code: z.string(),
      exit: z.int(),
      msg: z.string(),
      // the ranks that it names: failed, missing or suspected; and the host of the first of them
      culprits: ranks,
      host: z.string().optional(),
      // ranks that wait for them
      waiting: ranks,
    })
    .nullable(),
  seconds: z.number(),
  // of the ranks, such as `NVIDIA H200`
  device: z.string(),
  software: z.array(z.string()),
  // the most GPU memory that communicators hold on any rank; null on a CPU
  communicatorBytes: z.number().nullable(),
  // checks that the layout asks for and the job did not run
  skipped: z.array(z.object({ name: z.string(), reason: z.string() })),
  // checks beside the groups, and what they found
  passed: z.array(z.object({ name: z.string(), message: z.string() })),
  bandwidth: z.array(z.object(operations)).describe('Of each kind one group, once a payload.'),
  // such as ranks with different software
  warnings: z.array(z.string()),
  // the only hint where the stream broke off
  lastWords: z.array(z.string()).describe('The last lines of the job for people.'),
});

/** The outcome of a run: a stream that broke off has never passed. */
export type SmokeResult = Plain<z.infer<typeof smokeOutput>>;

/** The operations of one group, timed at one payload. */
export type GroupOperations = SmokeResult['bandwidth'][number];

/** A group that passed. */
export type PassedGroup = SmokeResult['groups'][number];

/** What went wrong. */
export type Fault = NonNullable<SmokeResult['fault']>;
