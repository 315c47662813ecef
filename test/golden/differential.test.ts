import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { runs } from '../harness/property';
import { layoutText, loadGolden } from './golden';
import {
  type CallInput,
  isOneWorld,
  type MimoFlags,
  mimoFlagsText,
  type ParallelInput,
  parallelText,
  type SpecInput,
  type TopologyInput,
  topologyText,
} from './inputs';
import {
  type FlagsInput,
  flagsErrors,
  isColocated,
  MALFORMED_ORDER,
  type ModelInput,
  modelErrors,
  parallelErrors,
  type ScriptInput,
  SILENT_LOSS,
  scriptErrors,
  topologyErrors,
} from './oracle';

const RUNS = runs(100);

/** Verdicts without words of Megatron-LM. */
const WORDLESS = [MALFORMED_ORDER, SILENT_LOSS];

/**
 * Holds what is said of a file against the oracle: an accepted one has no error (but those that come after the checks that
 * the oracle knows), a refused one has the oracle's words among its predictions.
 */
function agree(text: string, oracle: Iterable<string>, later: readonly string[] = []): void {
  const verdict = firstOf(oracle);
  const errors = check(text).diagnostics.filter(({ severity }) => severity === 'error');
  if (verdict === null) {
    expect(
      errors.map(({ code }) => code).filter((code) => !later.includes(code)),
      text,
    ).toEqual([]);
  } else if (WORDLESS.includes(verdict)) {
    expect(errors, text).not.toEqual([]);
  } else {
    expect(
      errors.map(({ predicts }) => predicts),
      text,
    ).toContain(verdict);
  }
}

const firstOf = ([error = null]: Iterable<string | null>): string | null => error;

/** Mostly the first values: errors should stay the exception. */
const mostly = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 3 * others.length, arbitrary: fc.constant(usual) }, ...others.map((value) => fc.constant(value)));
const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);

describe('modules', () => {
  const spec = fc.record({
    replicas: oneOf(1, 1, 2, 3, 4),
    more: mostly(0, 1, -1),
    tp: oneOf(1, 2, 3, 4),
    gtp_remat: mostly(1, 2),
    cp: mostly(1, 2),
    pp: mostly(1, 2, 3),
    ep: mostly(1, 2, 4),
    expt_tp: mostly(1, 2),
    expt_gtp_remat: mostly(1, 2),
    shift: mostly(0, -2, -1, 1, 3),
  });
  const jobs = fc
    .record({
      specs: fc.array(spec, { minLength: 1, maxLength: 4 }),
      names: fc.shuffledSubarray(['language', 'images', 'audio', 'video'], { minLength: 4 }),
      colocated: fc.option(oneOf(4, 6, 8, 12), { freq: 4 }),
      more: mostly(0, -2, 1, 4),
    })
    .map(({ specs, names, colocated, more }) => {
      let end = 0;
      const placed = specs.map(({ replicas, shift, more: extra, ...degrees }, i): SpecInput => {
        const { tp, gtp_remat, cp, pp } = degrees;
        const num_ranks = colocated ?? Math.max(1, tp * gtp_remat * cp * pp * replicas + extra);
        const rank_offset = colocated === null ? Math.max(0, end + shift) : 0;
        end += num_ranks;
        return { name: names[i] ?? '', num_ranks, rank_offset, ...degrees };
      });
      return { world_size: Math.max(1, (colocated ?? end) + more), specs: placed };
    });

  test('are judged as the oracle judges them', () => {
    fc.assert(
      fc.property(jobs, ({ world_size, specs }) => {
        const later = isColocated(specs) ? ['colocated-bridge'] : [];
        agree(topologyText({ world_size, specs }) ?? '', topologyErrors(world_size, specs), later);
      }),
      RUNS,
    );
  });

  test('the oracle knows the recorded cases', () => {
    const cases = loadGolden<TopologyInput, unknown>('hetero').filter(
      ({ id, input }) => !id.includes('odd') && topologyText(input),
    );
    for (const { id, input, error } of cases) {
      expect(firstOf(topologyErrors(input.world_size, input.specs)), id).toBe(error?.message ?? null);
    }
  });
});

describe('one grid', () => {
  const ORDERS = ['tp-cp-ep-dp-pp', 'tp-cp-ep-pp-dp', 'tp-cp-pp-ep-dp', 'dp-tp-cp-ep-pp', 'tp-gtp_remat-cp-ep-dp-pp'];
  const jobs = fc
    .record({
      replicas: oneOf(1, 2, 3, 4, 6, 8),
      more: mostly(0, 1),
      tp: oneOf(1, 2, 3, 4),
      gtp_remat: mostly(1, 2),
      cp: oneOf(1, 1, 2, 4),
      pp: oneOf(1, 1, 2, 3, 4),
      vpp: mostly<number | null>(null, 2),
      ep: oneOf(1, 1, 2, 4),
      etp: oneOf(null, null, 1, 2),
      expt_gtp_remat: mostly(1, 2),
      num_distributed_optimizer_instances: mostly(1, 2, 3, 4),
      order: fc.oneof(
        oneOf(...ORDERS),
        fc.shuffledSubarray(['tp', 'cp', 'ep', 'dp', 'pp'], { minLength: 1 }).map((tokens) => tokens.join('-')),
      ),
      hierarchical_context_parallel_sizes: mostly<number[] | null>(null, [2, 2], [2, 1], [4]),
      use_sharp: mostly(false, true),
      sharp_enabled_group: mostly<string | null>(null, 'dp', 'dp_replica', 'tp'),
    })
    .map(({ replicas, more, ...input }): ParallelInput => {
      const { tp, gtp_remat, cp, pp } = input;
      return { world_size: tp * gtp_remat * cp * pp * replicas + more, ...input };
    });

  test('is judged as the oracle judges it', () => {
    fc.assert(
      fc.property(jobs, (input) => agree(parallelText(input), parallelErrors(input))),
      RUNS,
    );
  });

  test('the oracle knows the recorded cases', () => {
    const cases = loadGolden<CallInput, unknown>('homogeneous').filter(
      ({ id, input }) => !id.includes('odd') && !input.hybrid_context_parallel && isOneWorld(input),
    );
    for (const { id, input, error } of cases) {
      expect(firstOf(parallelErrors(input)), id).toBe(error?.message ?? null);
    }
  });
});

describe('the flags of examples/mimo', () => {
  const jobs = fc
    .record({
      more: mostly(0, -2, 1),
      encoder: fc.option(fc.record({ tp: oneOf(1, 2, 4), dp: oneOf(1, 2, 3, 4) }), { freq: 5 }),
      shift: mostly(0, -1, 1, 2),
      tp: oneOf(1, 2, 4),
      cp: mostly(1, 2),
      pp: mostly(1, 2),
      dp: oneOf(1, 2, 4),
      ep: mostly(1, 2, 4),
      expt_tp: oneOf(null, null, 1, 2),
      shards: mostly<number | null>(null, 1, 2, 3, 4, 8),
      expt_shards: mostly<number | null>(null, 1, 2, 3),
      num_experts: oneOf(null, null, 3, 4, 6, 8),
      micro_batch_size: oneOf(1, 2, 3, 4),
    })
    .map(({ more, shift, ...input }): FlagsInput => {
      const { encoder, tp, cp, pp, dp, shards } = input;
      const offset = Math.max(0, (encoder ? encoder.tp * encoder.dp : 0) + shift);
      const gtp = shards !== null && shards % tp === 0 ? shards / tp : 1;
      return { world_size: Math.max(1, offset - shift + tp * gtp * cp * pp * dp + more), offset, ...input };
    })
    // modules that begin at one rank may be colocated, which these flags cannot say
    .filter(({ encoder, offset }) => encoder === null || offset > 0);

  test('are judged as the oracle judges them', () => {
    fc.assert(
      fc.property(jobs, (input) => {
        const { world_size, encoder, offset, shards, expt_shards, num_experts, micro_batch_size, ...degrees } = input;
        const model = num_experts === null ? null : { num_experts };
        const sizes = { num_weight_shards: shards, expt_num_weight_shards: expt_shards };
        const language = { rank_offset: offset, ...degrees, ...sizes, model };
        const modules = encoder ? { images: encoder, language } : { language };
        agree(layoutText({ world_size, modules, batch: { micro_batch_size } }), flagsErrors(input));
      }),
      RUNS,
    );
  });
});

describe('the recorded flags', () => {
  const cases = loadGolden<MimoFlags, { readonly specs_error: { readonly message: string } | null }>('hetero_args');
  const plain = cases.filter(({ id, input }) => !id.includes('odd') && mimoFlagsText(input));

  test.each(plain)('$id: the oracle knows it', ({ input, error, expect: golden }) => {
    const { world_size, args } = input;
    const number = (name: string) => Number(args[name]);
    const option = (name: string) => (args[name] === null || args[name] === undefined ? null : number(name));
    const errors = flagsErrors({
      world_size,
      encoder: args.llm_only ? null : { tp: number('encoder_tp'), dp: number('encoder_dp') },
      offset: number('llm_offset'),
      tp: number('llm_tp'),
      cp: number('llm_cp'),
      pp: number('llm_pp'),
      dp: number('llm_dp'),
      ep: number('llm_ep'),
      expt_tp: option('llm_expt_tp'),
      shards: option('tensor_parallel_num_weight_shards'),
      expt_shards: option('expert_tensor_parallel_num_weight_shards'),
      num_experts: option('num_experts'),
      micro_batch_size: number('micro_batch_size'),
    });
    expect(firstOf(errors)).toBe((error ?? golden.specs_error)?.message ?? null);
  });
});

const model = {
  tp: oneOf(1, 2, 3, 4),
  pp: oneOf(1, 2, 3, 4),
  vpp: mostly<number | null>(null, 2, 3),
  ep: mostly(1, 2),
  layers: oneOf(4, 6, 7, 8, 10, 12, 16),
  heads: oneOf(4, 6, 8, 12, 16),
  groups: oneOf(null, null, 2, 3, 4, 8),
  experts: oneOf(null, 3, 4, 8),
  first: mostly<number | null>(null, 1, 2, 4),
  last: mostly<number | null>(null, 1, 2, 3),
  sequence_parallel: mostly(false, true),
};

const modelKeys = ({ layers, heads, groups, experts, first, last }: ModelInput) => ({
  num_layers: layers,
  num_attention_heads: heads,
  num_query_groups: groups,
  num_experts: experts,
  num_layers_in_first_pipeline_stage: first,
  num_layers_in_last_pipeline_stage: last,
});

describe('models', () => {
  test('are judged as the oracle judges them', () => {
    fc.assert(
      fc.property(fc.record(model), (input) => {
        const { tp, ep, sequence_parallel, experts } = input;
        // an interleaved schedule without a pipeline, and uneven experts, are no matter of TransformerConfig
        fc.pre((input.vpp === null || input.pp > 1) && (experts ?? 0) % ep === 0);
        const { pp, vpp } = input;
        const text = layoutText({
          world_size: tp * pp * ep * tp,
          parallelism: { tp, pp, vpp, ep },
          model: { ...modelKeys(input), hidden_size: 64 },
          sequence: { sequence_parallel },
        });
        agree(text, modelErrors(input));
      }),
      RUNS,
    );
  });
});

describe('command lines of the training script', () => {
  const jobs = fc
    .record({
      ...model,
      replicas: oneOf(1, 2, 4),
      more: mostly(0, 1),
      cp: oneOf(1, 1, 2, 4),
      shards: mostly<number | null>(null, 2, 3, 4, 8),
      hidden: mostly(768, 64, 100),
      seq_length: oneOf(32, 33, 63, 64, 96),
      max_position: mostly<number | null>(null, 32, 64, 96),
      tp_comm_overlap: mostly(false, true),
      levels: mostly<number[] | null>(null, [2, 2], [2], [4]),
      cp_comm_type: mostly<string | null>(null, 'a2a+p2p'),
      micro: oneOf(1, 2),
      steps: oneOf(null, 1, 2, 4, 1.5),
    })
    .map(({ replicas, more, steps, ...input }): ScriptInput => {
      const gtp = input.shards !== null && input.shards % input.tp === 0 ? input.shards / input.tp : 1;
      const replica = input.tp * gtp * input.cp * input.pp;
      const global = steps === null ? null : Math.ceil(input.micro * replicas * gtp * steps * input.ep * input.tp);
      return { ...input, world_size: replica * replicas * input.ep * input.tp + more, global };
    });

  test('are judged as the oracle judges them', () => {
    fc.assert(
      fc.property(jobs, (input) => {
        const { tp, cp, pp, vpp, ep, shards, levels, micro, global } = input;
        const text = layoutText({
          world_size: input.world_size,
          parallelism: { tp, cp, pp, vpp, ep, num_weight_shards: shards, hierarchical_context_parallel_sizes: levels },
          model: { ...modelKeys(input), hidden_size: input.hidden },
          sequence: {
            seq_length: input.seq_length,
            max_seq_len: input.max_position,
            sequence_parallel: input.sequence_parallel,
            tp_comm_overlap: input.tp_comm_overlap,
            cp_comm_type: input.cp_comm_type,
          },
          batch: { micro_batch_size: micro, global_batch_size: global },
        });
        // groups are made, and the schedule counts its micro-batches, once the arguments are accepted
        agree(text, scriptErrors(input), ['expert-factorization', 'virtual-pipeline-window']);
      }),
      RUNS,
    );
  });
});
