import type { SmokeReport } from '../../picture/smokeOutcome';
import type { Engine } from './page.ts';

/** What a smoke job might say of a layout: one group of `dp` failed, the last kind was not reached, bandwidths differ a little. */
export function smokeMessage({ check, processGroups }: Engine, text: string): { readonly type: 'smoke' } & SmokeReport {
  const { resolved } = check(text);
  const families = resolved ? processGroups(resolved).filter(({ size }) => size > 1) : [];
  const groups = families.slice(0, -1).flatMap(({ name, module, count }) =>
    Array.from({ length: count }, (_, index) => {
      const ok = name !== 'dp' || index !== 2;
      const busGBs = ok ? Math.round(1000 * (300 + 40 * Math.sin(index + name.length))) / 1000 : null;
      return { name, module, index, ok, busGBs };
    }),
  );
  return { type: 'smoke', verdict: 'failed', groups, suspects: [6] };
}
