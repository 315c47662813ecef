import type { PythonFamily } from '../family';
import { derived, type FactMap, Facts, type Found, isKnown } from '../foundValues';
import { integerOf, type Option, Options } from '../options';
import { CALLEE, pythonRecipes } from '../python/module';
import { at, optionOf, optionsOf, type Tree, type TreeMap, textAtPath } from '../tree';
import { coverGrids, LAUNCHERS_WORLD } from '../world';

/** The fields of `ModuleGridSpec` (examples/mimo/training/topology.py) with their keys and defaults. */
const FIELDS = [
  ['num_ranks', null],
  ['rank_offset', 0],
  ['tp', 1],
  ['cp', 1],
  ['pp', 1],
  ['ep', 1],
  ['gtp_remat', 1],
  ['expt_tp', 1],
  ['expt_gtp_remat', 1],
] as const;

/** The module grids of Megatron-LM's MIMO example as Python: a list of `ModuleGridSpec(...)`. */
export const moduleGridPython: PythonFamily = {
  name: 'mimo',
  read: ({ file, text }) =>
    pythonRecipes(file, text).flatMap(({ name, variables }) => {
      const specs = [...variables.values()].map(specsOf).find((list) => list.length > 0);
      return specs ? [{ name: name === '' ? 'the file' : name, facts: factsOf(specs) }] : [];
    }),
};

function specsOf(tree: Tree): TreeMap[] {
  const items = tree.kind === 'list' ? tree.items : [];
  const specs = items.flatMap((item) => (item.kind === 'map' && isCallOf(item, 'ModuleGridSpec') ? [item] : []));
  return specs.length === items.length ? specs : [];
}

/** Whether a map was made by a call of a class. */
function isCallOf(tree: TreeMap, name: string): boolean {
  return textAtPath(tree, CALLEE)?.split('.').at(-1) === name;
}

function factsOf(specs: readonly TreeMap[]): Facts {
  const facts = new Facts();
  const ends: (Found<number> | undefined)[] = [];
  for (const spec of specs) {
    const name = textAtPath(spec, 'name');
    if (name === null) {
      facts.note('A module grid has a name that is not known; it is left out.');
      ends.push({ unknown: 'the name of a module grid' });
      continue;
    }
    const options = optionsOf(spec);
    for (const [field, otherwise] of FIELDS) {
      const key = `modules.${name}.${field}` as const;
      facts.set(key, options.integer(field));
      if (otherwise !== null) {
        facts.setDefault(key, otherwise);
      }
    }
    const [offset, ranks] = (['rank_offset', 'num_ranks'] as const).map((field) =>
      facts.get(`modules.${name}.${field}`),
    );
    ends.push(derived([offset, ranks], (first, count) => first + count, 'world_size'));
  }
  coverGrids(facts, ends);
  return facts;
}

/** `NonuniformTPConfig(...)` of Megatron-LM's nonuniform tensor parallelism (heads/dev). */
export const nonuniformPython: PythonFamily = {
  name: 'megatron-lm',
  read: ({ file, text }) =>
    pythonRecipes(file, text).flatMap(({ name, variables }) => {
      const config = [...variables.values()].find(
        (tree) => tree.kind === 'map' && isCallOf(tree, 'NonuniformTPConfig'),
      );
      return config ? [{ name: name === '' ? 'the file' : name, facts: nonuniformFacts(config) }] : [];
    }),
};

/** `{dp: [slots]}`, or `{(dp, cp, pp): [slots]}` for one slice of a replica. */
function removedSlots(tree: Tree | undefined): Found | undefined {
  if (tree?.kind !== 'map') {
    return undefined;
  }
  const slots = [...tree.entries].map(([key, ranks]): FactMap | null => {
    const indexes = key.split(',').map(integerOf);
    const local = new Options(new Map([['ranks', optionOf(ranks) ?? NO_OPTION]]), null).list(true, 'ranks');
    if (!isKnown(local) || indexes.includes(null) || (indexes.length !== 1 && indexes.length !== 3)) {
      return null;
    }
    const names = ['dp', 'cp', 'pp'];
    const place = Object.fromEntries(
      indexes.flatMap((index, at) => (index === null ? [] : [[names[at] ?? '', index]])),
    );
    return { ...place, local_ranks: local.value };
  });
  const known = slots.flatMap((slot) => slot ?? []);
  return known.length === slots.length
    ? { value: known, source: tree.place }
    : { unknown: 'non_active_ranks_per_dp, of which an entry is not known' };
}

const NO_OPTION: Option = { values: [null], places: [], place: { file: '', offset: 0 }, unknown: 'the removed slots' };

function nonuniformFacts(config: Tree): Facts {
  const facts = new Facts();
  const options = optionsOf(config);
  for (const key of ['tp_base', 'tp_spares', 'num_reduced_tp_dp_ranks'] as const) {
    facts.set(`ntp.${key}`, options.integer(key));
  }
  facts.set('ntp.non_active_ranks_per_dp', removedSlots(at(config, 'non_active_ranks_per_dp')));
  facts.set('world_size', LAUNCHERS_WORLD);
  return facts;
}
