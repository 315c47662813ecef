import {
  type CheckpointTransfer,
  type CheckpointVerdict,
  gibibytes,
  PART_NAMES,
  type PartVerdict,
  secondsText,
  type WayOut,
} from '../layout';
import { traffic } from './flows';

/** `vision, torch_dist, optimizer states dp_reshardable`: what a verdict is about. */
export function checkpointTitle({ module, format, sharding }: CheckpointVerdict): string {
  const states = sharding === null || format !== 'torch_dist' ? [] : [`optimizer states ${sharding}`];
  return [...(module === null ? [] : [module]), format, ...states].join(', ');
}

/** The ways out of what does not load as it is, each once, with the parts that it serves: `model, optimizer`. */
export function waysOut(parts: readonly PartVerdict[]): (WayOut & { readonly serves: string })[] {
  const ways = new Map(parts.flatMap((part) => part.ways.map((way) => [way.command, way] as const)));
  return [...ways.values()].map((way) => {
    const served = parts.filter((part) => part.ways.some(({ command }) => command === way.command));
    return { ...way, serves: [...new Set(served.map(({ part }) => PART_NAMES[part]))].join(', ') };
  });
}

/** What it takes to load a checkpoint, a sentence each: bytes, the least time, memory of the hosts. */
export function transferSentences({ transfer, parts }: CheckpointVerdict): string[] {
  if (!transfer) {
    return [];
  }
  const { weightsBytes, statesBytes, perRankBytes, allRanksBytes, nodeBytes, converterBytes } = transfer;
  const commands = parts.flatMap(({ ways }) => ways.map(({ command }) => command));
  return [
    `The checkpoint has ${traffic(weightsBytes)} of weights and ${traffic(statesBytes)} of optimizer states.`,
    `A rank reads up to ${traffic(perRankBytes)}, all ranks together ${traffic(allRanksBytes)}${timeText(transfer)}.`,
    ...(nodeBytes > 0
      ? [`Optimizer states lie whole in main memory while they are read: up to ${gibibytes(nodeBytes)} GiB a node.`]
      : []),
    ...(commands.some((command) => command.includes('convert.py'))
      ? [`The converter holds the weights twice on one host: at least ${gibibytes(converterBytes)} GiB of main memory.`]
      : []),
  ];
}

function timeText({ seconds, bytesPerSecond, isMeasured }: CheckpointTransfer): string {
  if (seconds === null || bytesPerSecond === null) {
    return '';
  }
  const speed = `${isMeasured ? 'the measured' : 'an assumed'} ${traffic(bytesPerSecond)}/s a GPU`;
  return `: at least ${secondsText(seconds)} at ${speed}, if the storage keeps up`;
}
