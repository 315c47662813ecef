/** What a smoke job might say of a layout: one group failed, the last kind was not reached, bandwidths differ a little. */
export function smokeMessage({ check, processGroups }, text, { verdict = 'failed', failed = 'dp' } = {}) {
  const { resolved } = check(text);
  const families = processGroups(resolved).filter(({ size }) => size > 1);
  const groups = families.slice(0, -1).flatMap(({ name, module, count }) =>
    Array.from({ length: count }, (_, index) => ({
      name,
      module,
      index,
      ok: name !== failed || index !== 2,
      busGBs:
        name === failed && index === 2 ? null : Math.round(1000 * (300 + 40 * Math.sin(index + name.length))) / 1000,
    })),
  );
  return { type: 'smoke', verdict, groups, suspects: [6] };
}
