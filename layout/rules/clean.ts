import type { Span } from '../finding';
import { FORMAT } from '../format/keys';
import type { LayoutFacts, ModuleFacts, SomeGrids } from '../topology/facts';

/**
 * The modules of a file of which the rules that look at grids one by one have nothing to say. Such a module stays clean while
 * neither it nor anything around the modules changes, so a keystroke has these rules look at one module, not at hundreds.
 */
export class CleanGrids {
  #clean = new WeakSet<ModuleFacts>();
  #around: LayoutFacts | null = null;

  /** Those of a file, as far as they are known: none once anything around the modules has changed. */
  of(facts: LayoutFacts): WeakSet<ModuleFacts> {
    if (!this.#around || !isSameAround(this.#around, facts)) {
      this.#clean = new WeakSet();
    }
    this.#around = facts;
    return this.#clean;
  }
}

/** One run of all rules over the grids of a file that are not known to be clean. */
export class Visit {
  readonly grids: SomeGrids;
  readonly #found: number[] = [];
  #isWhole = true;

  /** @param clean the modules that are known to be clean; null where nobody will ask again */
  constructor(
    facts: LayoutFacts,
    readonly clean: WeakSet<ModuleFacts> | null,
  ) {
    this.grids = clean ? { ...facts, modules: facts.modules.filter((module) => !clean.has(module)) } : facts;
  }

  /** Something was found at a place in one of the grids. */
  found({ start }: Span): void {
    this.#found.push(start);
  }

  /** A rule did not look at all grids. */
  cutShort(): void {
    this.#isWhole = false;
  }

  /** All rules have looked: the modules in which nothing was found are clean. What is said of `parallelism` may stand elsewhere. */
  end(): void {
    if (!this.clean || !this.#isWhole || !this.grids.heterogeneous) {
      return;
    }
    const found = this.#found.sort((a, b) => a - b);
    let at = 0;
    for (const module of this.grids.modules) {
      while (at < found.length && (found[at] ?? 0) < module.nameSpan.start) {
        at++;
      }
      const next = found[at];
      if (next === undefined || next > module.span.end) {
        this.clean.add(module);
      }
    }
  }
}

/** Whether two files are the same but for their modules, as far as a rule that looks at one grid can see. */
function isSameAround(a: LayoutFacts, b: LayoutFacts): boolean {
  return (
    a.heterogeneous === b.heterogeneous && a.mimoFlags === b.mimoFlags && AROUND.every((key) => isSameField(a, b, key))
  );
}

const AROUND = Object.keys(FORMAT.keys).filter((key) => key !== 'modules') as (keyof SomeGrids['root'])[];

function isSameField(a: LayoutFacts, b: LayoutFacts, key: keyof SomeGrids['root']): boolean {
  return a.root[key] === b.root[key] || (!a.root[key].written && !b.root[key].written);
}
