// Runs a script of this folder where what all of them need is there, and else says what to do:
// `node scripts/ready.mjs build --watch` runs `build.mjs --watch`.
import { existsSync } from 'node:fs';

/** The first Node.js that runs TypeScript as it is, as major and minor. */
const [MAJOR, MINOR] = [22, 18];

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (!existsSync('node_modules')) {
  end('Run `npm ci` first.');
}
if (major < MAJOR || (major === MAJOR && minor < MINOR)) {
  // npm puts the Node.js of node_modules/.bin first, which is for Linux x64 alone
  end(
    `Node.js ${MAJOR}.${MINOR} or later is needed, and this is ${process.version}. On Linux x64, \`npm run\` has one.`,
  );
}
const [name] = process.argv.splice(2, 1);
await import(`./${name}.mjs`);

function end(sentence) {
  console.error(sentence);
  process.exit(2);
}
