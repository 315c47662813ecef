import { describe, expect, test } from 'vitest';
import { check, processGroups } from '../../layout';
import { digest, layoutText, loadGolden, predictions, ranksOf } from './golden';

interface Spec {
  readonly name: string;
  readonly num_ranks: number;
  readonly tp: number;
  readonly cp: number;
  readonly pp: number;
  readonly ep: number;
  readonly gtp_remat: number;
  readonly rank_offset: number;
  readonly expt_tp: number;
  readonly expt_gtp_remat: number;
}

type Lists = Readonly<Record<string, number[][]>>;
type Digests = Readonly<Record<string, { readonly sha256: string }>>;

interface Expect {
  readonly mode: string;
  readonly modules: readonly {
    readonly name: string;
    readonly dp: number;
    readonly expt_dp: number;
    readonly shadowed: boolean;
    readonly group_order: readonly string[];
    readonly groups?: Lists;
    readonly groups_sha256?: Digests;
  }[];
  readonly language_groups?: Lists;
  readonly language_groups_sha256?: Digests;
}

/** Names are unique in a file: a repeated one is `duplicate-key` there, and silently replaced in Megatron-LM. */
const expressible = ({ specs }: { specs: readonly Spec[] }) =>
  new Set(specs.map(({ name }) => name)).size === specs.length;

const cases = loadGolden<{ world_size: number; specs: readonly Spec[] }, Expect>('hetero').filter(({ input }) =>
  expressible(input),
);

function textOf({ world_size, specs }: (typeof cases)[number]['input']): string {
  const modules = Object.fromEntries(specs.map(({ name, ...degrees }) => [name, degrees]));
  return layoutText({ world_size, modules });
}

describe('layouts of create_topology', () => {
  const accepted = cases.filter(({ ok, id }) => ok && !id.includes('odd'));
  const rejected = cases.filter(({ ok }) => !ok);

  test('there are both kinds', () => {
    expect(accepted.length).toBeGreaterThan(20);
    expect(rejected.length).toBeGreaterThan(20);
  });

  test.each(accepted)('$id: accepted, and every group equal', ({ input, expect: golden }) => {
    const checked = check(textOf(input));
    // create_topology builds colocated grids that the bridge between them then refuses
    const errors = checked.diagnostics.filter(({ severity }) => severity === 'error');
    expect(errors.filter(({ code }) => code !== 'colocated-bridge')).toEqual([]);
    expect(errors.length === 0 || golden.mode === 'colocated').toBe(true);
    const { resolved } = checked;
    expect(resolved?.mode).toBe(golden.mode);
    const families = resolved ? processGroups(resolved) : [];
    for (const module of golden.modules) {
      const own = families.filter(({ module: of, name }) => of === module.name && !/embd|bridge/.test(name));
      expect(own.map(({ name }) => name)).toEqual(module.group_order);
      for (const family of own) {
        const lists = ranksOf(family);
        if (module.groups) {
          expect(lists, family.name).toEqual(module.groups[family.name]);
        } else {
          expect(digest(lists), family.name).toBe(module.groups_sha256?.[family.name]?.sha256);
        }
      }
    }
    for (const name of ['embd', 'pos_embd']) {
      const lists = families.filter((family) => family.name === name).flatMap(ranksOf);
      if (golden.language_groups) {
        expect(lists, name).toEqual(golden.language_groups[name]);
      } else {
        expect(digest(lists), name).toBe(golden.language_groups_sha256?.[name]?.sha256);
      }
    }
  });

  test.each(rejected)('$id: rejected with the same words', ({ input, error }) => {
    const found = predictions(check(textOf(input)));
    expect(found).not.toEqual([]);
    if (error?.origin === 'megatron') {
      expect(found).toContain(error.message);
    }
  });
});
