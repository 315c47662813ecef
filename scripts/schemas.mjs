// Writes the JSON schemas of cluster settings from their description (client/cluster), in the extension's manifest and in
// schemas/: `node scripts/schemas.mjs`. A test holds them against the description.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import esbuild from 'esbuild';

const work = mkdtempSync(join(tmpdir(), 'parallelism-layout-schemas-'));
const bundle = join(work, 'kinds.cjs');
await esbuild.build({
  entryPoints: ['client/cluster/kinds.ts'],
  bundle: true,
  format: 'cjs',
  platform: 'node',
  outfile: bundle,
});
const { clusterFileSchema, clusterListSchema } = createRequire(import.meta.url)(bundle);
rmSync(work, { recursive: true });

const write = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
Object.assign(manifest.contributes.configuration.properties['parallelismLayout.clusters'], clusterListSchema());
write('package.json', manifest);
write('schemas/clusters.schema.json', clusterFileSchema());
