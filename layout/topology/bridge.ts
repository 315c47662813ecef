import { LANGUAGE_MODULE } from '../format/names';
import { Grid, sizeAlong } from '../grid/grid';
import type { GroupFamily } from './groupFamily';
import type { ResolvedLayout, ResolvedModule } from './resolved';

/** How activations cross from an encoder's replicas to the language model's on the same ranks. */
export type BridgeDirection = 'fan_in' | 'fan_out' | 'equal';

/** The bridge's process groups with what `ColocatedBridgeCommunicator` says of itself. */
export interface BridgeFamily extends GroupFamily {
  readonly direction: BridgeDirection;
  /** How many replicas of the side with more of them share one replica of the other. */
  readonly scale: number;
}

/** Whether a family is a bridge between colocated modules. */
export function isBridge(family: GroupFamily): family is BridgeFamily {
  return 'direction' in family;
}

/** Direction and scale between two data-parallel sizes; null where neither divides the other. */
export function bridgeShape(
  encoderDp: number,
  languageDp: number,
): { readonly direction: BridgeDirection; readonly scale: number } | null {
  if (encoderDp === languageDp) {
    return { direction: 'equal', scale: 1 };
  }
  const [direction, more, fewer] =
    encoderDp > languageDp
      ? (['fan_in', encoderDp, languageDp] as const)
      : (['fan_out', languageDp, encoderDp] as const);
  return more % fewer === 0 ? { direction, scale: more / fewer } : null;
}

/**
 * The gather groups of every encoder's bridge to the language model, for colocated modules
 * (megatron/core/models/mimo/comm/colocated_communicator.py `ColocatedBridgeCommunicator`).
 */
export function bridgeFamilies({ mode, modules }: ResolvedLayout): BridgeFamily[] {
  const language = modules.find(({ name }) => name === LANGUAGE_MODULE);
  if (mode !== 'colocated' || !language) {
    return [];
  }
  return modules.filter((module) => module !== language).flatMap((encoder) => bridgeFamily(encoder, language) ?? []);
}

function bridgeFamily(encoder: ResolvedModule, language: ResolvedModule): BridgeFamily | null {
  const shape = bridgeShape(sizeAlong(encoder.dense, 'dp'), sizeAlong(language.dense, 'dp'));
  if (!shape) {
    return null;
  }
  const { direction, scale } = shape;
  const many = direction === 'fan_in' ? encoder : language;
  // a rank's place is (which TP group, which member of it); under generalized TP that leaves ranks without a group
  const groups = new Grid(
    [
      { name: 'tp', size: sizeAlong(many.dense, 'tp') },
      { name: 'scale', size: scale },
      { name: 'replica', size: direction === 'equal' ? 0 : sizeAlong(many.dense, 'dp') / scale },
    ],
    many.rankOffset,
  ).groups(['scale']);
  return {
    name: 'bridge',
    module: encoder.name,
    direction,
    scale,
    count: groups.count,
    size: direction === 'equal' ? 0 : scale,
    ranks: (index) => groups.ranks(index),
    all: () => groups.all(),
    indicesOf: (rank) => groups.indicesOf(rank),
  };
}
