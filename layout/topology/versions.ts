import type { MegatronVersion } from '../format/keys';
import type { LayoutFacts } from './facts';

/**
 * The version whose rules apply to a file: the written one, else `dev` where it uses what only `dev` has (nonuniform TP, dynamic
 * context parallelism), else `main`.
 */
export function versionOf({ root }: Pick<LayoutFacts, 'root'>): MegatronVersion {
  const isDev = root.ntp.written || root.parallelism.value?.dynamic_context_parallel.value === true;
  return root.megatron.value ?? (isDev ? 'dev' : 'main');
}

/** Whether a version is a release before `core_r0.<minor>`; main and dev are after all of them. */
export function isBefore(version: MegatronVersion, minor: number): boolean {
  const release = /^core_r0\.(\d+)$/.exec(version)?.[1];
  return release !== undefined && Number(release) < minor;
}

/** Whether grids of `parallelism` have generalized TP in a version; modules have it on main only. */
export function hasGtp(version: MegatronVersion, heterogeneous: boolean): boolean {
  return version === 'main' || (version === 'core_r0.19' && !heterogeneous);
}

/**
 * A predicted error in the words of a version: those without generalized TP leave its dimension out of their messages
 * (golden data `version_drift`).
 */
export function wordsOf(message: string, version: MegatronVersion, heterogeneous: boolean): string {
  if (hasGtp(version, heterogeneous)) {
    return message;
  }
  return (
    isBefore(version, 13)
      ? message.replace(/\(total_model_size=(\d+)\)$/, '(encoder_model_size=0 + decoder_model_size=$1)')
      : message
  )
    .replace('must be divisible by tp*gtp_remat*cp*pp', 'must be divisible by tp*cp*pp')
    .replace('must be divisible by expt_tp*ep*expt_gtp_remat*pp', 'must be divisible by expt_tp*ep*pp')
    .replace(/^Grid shape \[(-?\d+), 1, /, 'Grid shape [$1, ')
    .replace(/(?<=^View 'expert' shape must be positive ints, got \[-?\d+, -?\d+), 1(?=,)/, '')
    .replace('--micro-batch-size * --llm-dp * GTP must be', '--micro-batch-size * --llm-dp must be')
    .replace(/\(got (\d+) \* (\d+) \* 1 % /, '(got $1 * $2 % ')
    .replace('data parallel group with CP (with GTP_remat)', 'data parallel group with CP')
    .replace(/(?<=specified the order \()[^)]*/, withoutRemat)
    .replaceAll('-gtp_remat-', '-');
}

/** A rank order without the dimension of generalized TP. */
function withoutRemat(order: string): string {
  return order
    .split('-')
    .filter((token) => token !== 'gtp_remat')
    .join('-');
}
