// Writes the JSON schemas that are made of descriptions in the code: of cluster settings (jobs), in the extension's manifest and in
// schemas/, and of what commands print (cli). `node scripts/schemas.mjs`. Tests hold them against the descriptions.
import { readFileSync, writeFileSync } from 'node:fs';
import { importSource } from './source.mts';

const { clusterFileSchema, clusterListSchema } = await importSource('jobs/clusterKinds.ts');
const { OUTPUT_NAMES, outputSchema } = await importSource('cli/outputSchemas.ts');

const write = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
Object.assign(manifest.contributes.configuration.properties['parallelismLayout.clusters'], clusterListSchema());
write('package.json', manifest);
write('schemas/clusters.schema.json', clusterFileSchema());
for (const command of OUTPUT_NAMES) {
  write(`schemas/${command}.schema.json`, outputSchema(command));
}
