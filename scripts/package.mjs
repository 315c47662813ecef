// Packages the extension: `node scripts/package.mjs` writes parallelism-layout.vsix.
import { statSync } from 'node:fs';
import { createVSIX } from '@vscode/vsce';

const packagePath = 'parallelism-layout.vsix';
await createVSIX({ packagePath, dependencies: false, allowMissingRepository: true });
console.log(`${packagePath}: ${Math.round(statSync(packagePath).size / 1024)} KB`);
