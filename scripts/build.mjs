// Bundles every program into dist/: `node scripts/build.mjs [--watch] [--development]`.
import { cp, rm, writeFile } from 'node:fs/promises';
import esbuild from 'esbuild';
import { BUNDLES } from './bundles.mjs';
import { thirdPartyNotices } from './notices.mjs';

const watch = process.argv.includes('--watch');
const development = watch || process.argv.includes('--development');
const bundles = BUNDLES.map((bundle) => ({
  ...bundle,
  logLevel: 'info',
  metafile: true,
  minify: !development,
  // kept beside a release, for those who read its stack traces
  sourcemap: development ? 'linked' : 'external',
}));

await rm('dist', { recursive: true, force: true });
if (watch) {
  const contexts = await Promise.all(bundles.map((bundle) => esbuild.context(bundle)));
  await Promise.all(contexts.map((context) => context.watch()));
} else {
  const results = await Promise.all(bundles.map((bundle) => esbuild.build(bundle)));
  const inputs = results.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  await writeFile('dist/THIRD-PARTY-NOTICES.txt', thirdPartyNotices(inputs));
}
await cp('smoke', 'dist/smoke', { recursive: true, filter: (path) => /smoke$|\.(py|sh)$/.test(path) });
