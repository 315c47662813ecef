import type { Fix } from '../../diagnostic';
import { changeFix } from '../fixes';
import type { ModuleSpan } from './spans';

/** Fixes that give a module as many ranks as there is room for, where whole replicas fit. */
export function shrinkFixes({ module }: ModuleSpan, room: number): Fix[] {
  const { own, denseModel, expertModel } = module;
  if (!own?.num_ranks.written || own.dp.written || denseModel === undefined || expertModel === undefined) {
    return [];
  }
  return room > 0 && room % denseModel === 0 && room % expertModel === 0
    ? [changeFix('num_ranks', own.num_ranks.span, room)]
    : [];
}
