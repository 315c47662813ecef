import type { BuildOptions } from 'esbuild';

export const PANEL: BuildOptions;
export const BUNDLES: readonly BuildOptions[];
