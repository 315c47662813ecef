import { LANGUAGE_MODULE } from '../../format/names';
import { bridgeShape } from '../../topology/bridge';
import type { ModuleFacts } from '../../topology/facts';
import { changeFix } from '../fixes';
import { eitherNumber, nearestDivisors } from '../numbers';
import { megatron, modules, type Report, type Rule } from '../rule';
import { mimoOf } from './mimo';

export const colocatedBridge: Rule = {
  code: 'colocated-bridge',
  severity: 'error',
  title: 'The bridge cannot join the colocated modules',
  effect: 'Megatron-LM stops when it builds the bridge, or hangs in the first step',
  what: 'Modules share all their ranks, and one of them has `pp` or `cp` above 1, or the `dp` of an encoder and of the language model do not divide one another, or the module with more replicas has `gtp_remat` above 1.',
  why: 'The bridge hands activations from one grid to the other on the same ranks. Grids with `pp` above 1 are built without an error, and then every rank is both the first and the last stage.',
  failing: modules(6, 'images: {num_ranks: 6, tp: 3}', 'language: {num_ranks: 6, tp: 2}'),
  sources: [megatron('megatron/core/models/mimo/comm/colocated_communicator.py', 'ColocatedBridgeCommunicator')],
  *check(facts) {
    const mimo = mimoOf(facts);
    if (!mimo?.colocated) {
      return;
    }
    const { language, encoders } = mimo;
    const stretched = [...stretchedReports([...encoders, language])];
    yield* stretched;
    for (const encoder of stretched.length > 0 ? [] : encoders) {
      yield* undividedReports(encoder, language);
      yield* uncoveredReports(encoder, language);
    }
  },
};

/** `pp` and `cp` above 1. Encoders are the bridge's source, the language model its destination. */
function* stretchedReports(modules: readonly ModuleFacts[]): Iterable<Report> {
  for (const { name, fields, degrees } of modules) {
    const side = name === LANGUAGE_MODULE ? 'dest' : 'src';
    for (const dim of ['pp', 'cp'] as const) {
      const size = degrees?.[dim] ?? 1;
      if (size > 1) {
        yield {
          message: `'${name}' shares its ranks with other modules, so it cannot have ${dim} ${size}. Use ${dim} 1, or give each module its own ranks.`,
          span: fields[dim].span,
          predicts: `${side} ${dim.toUpperCase()} must be 1 for ColocatedBridgeCommunicator, got ${size}`,
          fixes: [changeFix(dim, fields[dim], 1)],
        };
      }
    }
  }
}

function* undividedReports(encoder: ModuleFacts, language: ModuleFacts): Iterable<Report> {
  const { dp: from, fields, name } = encoder;
  const { dp: to } = language;
  if (from === undefined || to === undefined || bridgeShape(from, to)) {
    return;
  }
  const tp = encoder.degrees?.tp ?? 1;
  const sizes = nearestDivisors(from * tp, tp, 3, (size) => bridgeShape((from * tp) / size, to) !== null);
  yield {
    message: `'${name}' has dp ${from} and '${language.name}' dp ${to}; one must divide the other. Use tp ${eitherNumber(sizes)} for '${name}'.`,
    span: fields.tp.written ? fields.tp.span : encoder.nameSpan,
    related: [{ message: `'${language.name}' has dp ${to}`, span: language.nameSpan }],
    predicts: `DP sizes must be evenly divisible: src_dp=${from}, dest_dp=${to}`,
    fixes: sizes.map((size) => changeFix('tp', fields.tp, size)),
  };
}

/**
 * Ranks that no gather group of the bridge holds: the groups are made of `tp` and `dp` of the module with more replicas, and
 * a rank without a group gathers in the world group, which the others never enter.
 */
function* uncoveredReports(encoder: ModuleFacts, language: ModuleFacts): Iterable<Report> {
  const { dp: from, ranks } = encoder;
  const { dp: to } = language;
  const shape = from === undefined || to === undefined ? null : bridgeShape(from, to);
  if (!shape || shape.direction === 'equal' || ranks === undefined) {
    return;
  }
  const many = shape.direction === 'fan_in' ? encoder : language;
  const gtp = many.degrees?.gtpRemat ?? 1;
  if (gtp > 1) {
    const { gtp_remat: field, num_weight_shards: shards } = many.fields;
    const span = field.written ? field.span : shards.written ? shards.span : many.nameSpan;
    yield {
      message: `The bridge gathers over tp and dp of '${many.name}' and leaves gtp_remat ${gtp} out: ${ranks - ranks / gtp} of ${ranks} ranks have no gather group and wait in the world group for ever. Use gtp_remat 1 for '${many.name}', or the same dp for both modules.`,
      span,
      related: [{ message: `'${encoder.name}' has dp ${from}, '${language.name}' dp ${to}`, span: language.nameSpan }],
      fixes: [changeFix('gtp_remat', field, 1)],
    };
  }
}
