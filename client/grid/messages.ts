import {
  checkpointVerdicts,
  type Diagnostic,
  keyValues,
  type LayoutFacts,
  sequencePlans,
  type Understood,
} from '../../layout';
import { scoresOfFacts } from '../../layout/cost';
import { costOf } from '../../picture/cost';
import { stageLayers } from '../../picture/stageLayers';
import { outlineOf } from '../../picture/worldDiagram';
import type { PanelShards, ToPanel } from '../../webview/panel/messages';

/**
 * The message about a file: its layout where it resolves, and what can be drawn otherwise.
 * @param diagnostics what is said of the file
 * @param base the layout that it is compared with, where that has no errors
 */
export function layoutMessage(
  understood: Understood,
  diagnostics: readonly Diagnostic[],
  { uri, title }: { readonly uri: string; readonly title: string },
  base: LayoutFacts | null = null,
): Extract<ToPanel, { type: 'layout' }> {
  const { resolved, lines, facts } = understood;
  const isSound = diagnostics.every(({ severity }) => severity !== 'error');
  return {
    type: 'layout',
    uri,
    title,
    layout: resolved,
    outline: outlineOf(facts),
    sequences: facts ? sequencePlans(facts) : [],
    shards: shardsOf(understood),
    stages: facts ? stageLayers(facts) : [],
    cost: facts && resolved ? costOf(facts) : { cost: null, reason: 'The layout has errors.' },
    values: keyValues(understood),
    scores: facts && resolved && isSound ? scoresOfFacts(facts) : null,
    checkpoint: base && facts && resolved && isSound ? checkpointVerdicts(base, facts) : [],
    diagnostics: diagnostics
      .filter(({ severity }) => severity !== 'information')
      .map(({ code, severity, message, span, fixes }) => ({
        code,
        severity,
        message,
        line: lines.positionAt(span.start).line,
        module: moduleAt(understood, span.start),
        hasFix: fixes.length > 0,
      })),
  };
}

/** The module whose lines hold an offset. */
export function moduleAt({ facts }: Understood, offset: number): string | null {
  const module = facts?.modules.find(({ nameSpan, span }) => nameSpan.start <= offset && offset <= span.end);
  return module?.name ?? null;
}

/** The dimensions of the weights that nonuniform TP cuts, where the file says how many units they have. */
function shardsOf({ facts }: Understood): PanelShards[] {
  const model = facts?.modules[0]?.model.value;
  const sizes = [
    { name: 'attention heads', units: model?.num_attention_heads.value },
    {
      name: 'feed-forward columns',
      units: model?.ffn_hidden_size.value ?? 4 * (model?.hidden_size.value ?? Number.NaN),
    },
  ];
  return sizes.flatMap(({ name, units }) =>
    units !== undefined && Number.isSafeInteger(units) ? [{ name, units }] : [],
  );
}
