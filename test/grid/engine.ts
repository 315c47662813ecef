// What the panel's tests, pictures and benchmarks need of the engine, and the messages that the editor makes with it.
import { layoutMessage as messageOf } from '../../client/grid/messages';
import { atOnce, check, keyValues, recoveries, resizeLayout, tradeoffSteps, wishWithout } from '../../layout';
import { scoresOfFacts } from '../../layout/cost';
import { costOf } from '../../picture/cost';
import type { PanelBase, ToPanel } from '../../webview/panel/messages';

export { check, processGroups } from '../../layout';
export { neighbours } from '../../layout/cost';
export { physicalPlacement } from '../../picture/physical';

export const layoutMessage = (text: string, title: string, base: string | null = null) => {
  const checked = check(text);
  const facts = base === null ? null : check(base).facts;
  return messageOf(checked, checked.diagnostics, { uri: 'file:///a.layout.yaml', title }, facts);
};

/** What the editor sends a moment after a layout. */
export function tradeoffsMessage(text: string): ToPanel {
  return { type: 'tradeoffs', ...atOnce(tradeoffSteps(check(text), null)) };
}

/** What the editor sends a moment after ranks were marked as failed. */
export function recoveriesMessage(
  text: string,
  ranks: readonly number[],
): Extract<ToPanel, { readonly type: 'recoveries' }> {
  const { facts, resolved } = check(text);
  const wish = resolved && wishWithout(resolved, ranks, 5);
  return {
    type: 'recoveries',
    ranks,
    recoveries: facts && resolved ? recoveries(facts, resolved, ranks) : [],
    resizing: facts && resolved && wish ? resizeLayout(facts, resolved, wish) : null,
  };
}

/** A layout to compare with, as the editor sends it. */
export function baseOf(text: string, title: string): PanelBase {
  const checked = check(text);
  const { facts, resolved } = checked;
  return {
    title,
    file: null,
    layout: resolved,
    problem: null,
    values: keyValues(checked),
    scores: facts && resolved && scoresOfFacts(facts),
    cost: facts && resolved && costOf(facts).cost,
    run: null,
  };
}
