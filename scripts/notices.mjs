// What the licences of other people's code in our bundles ask for.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The name, version and licence of every package that is part of a bundle.
 * @param {readonly string[]} inputs the files that were bundled, from the project's folder
 * @throws where a package comes without the text of its licence
 */
export function thirdPartyNotices(inputs) {
  const folders = inputs.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]).filter(Boolean);
  const notices = [...new Set(folders)].map(noticeOf).sort();
  return `Parallelism Layout contains code of these packages.\n\n${notices.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) {
    throw new Error(`${folder} has no licence text`);
  }
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
}
