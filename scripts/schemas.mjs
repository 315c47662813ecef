// Writes the JSON schemas of cluster settings from their description (jobs), in the extension's manifest and in
// schemas/: `node scripts/schemas.mjs`. A test holds them against the description.
import { readFileSync, writeFileSync } from 'node:fs';
import { importSource } from './source.mjs';

const { clusterFileSchema, clusterListSchema } = await importSource('jobs/kinds.ts');

const write = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
Object.assign(manifest.contributes.configuration.properties['parallelismLayout.clusters'], clusterListSchema());
write('package.json', manifest);
write('schemas/clusters.schema.json', clusterFileSchema());
