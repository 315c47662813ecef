import { readdirSync, readFileSync } from 'node:fs';

/** Processes whose command line holds all of some texts. */
export function processesWith(...texts: readonly string[]): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      const command = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';
      return command !== '' && texts.every((text) => command.includes(text));
    } catch {
      return false;
    }
  });
}
