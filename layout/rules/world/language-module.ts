import { LANGUAGE_MODULE } from '../../format/names';
import { nearest } from '../../format/nearest';
import { insertFix, suggestion } from '../fixes';
import { MIMO_TOPOLOGY, modules, type Rule } from '../rule';

/** How many modules are offered to be the language model: a person chooses from a short list only. */
const MAX_RENAMES = 8;

export const languageModule: Rule = {
  code: 'language-module',
  severity: 'error',
  title: 'No module is called language',
  what: 'Exactly one of `modules` must have the name `language`: the one that the others feed.',
  why: 'Megatron-LM finds the language model by this name.',
  failing: modules(8, 'images: {num_ranks: 4, tp: 2}', 'llm: {rank_offset: 4, num_ranks: 4, tp: 2}'),
  sources: [MIMO_TOPOLOGY],
  *check({ text, root, heterogeneous }) {
    const entries = root.modules.value;
    if (!heterogeneous || !entries || entries.some(({ name }) => name === LANGUAGE_MODULE)) {
      return;
    }
    if (entries.length === 0) {
      yield {
        message: `modules is empty. Add a module called '${LANGUAGE_MODULE}'.`,
        span: root.modules.keySpan,
        predicts: 'create_topology requires at least one ModuleGridSpec',
        fixes: [insertFix(text, root.modules.span, `${LANGUAGE_MODULE}: {num_ranks: 1}`)],
      };
      return;
    }
    const names = entries.map(({ name }) => name);
    const likely = nearest(LANGUAGE_MODULE, names) ?? names.find((name) => /ll?m|lang|text|decoder/i.test(name));
    const renames = [...entries].sort((a, b) => Number(b.name === likely) - Number(a.name === likely));
    const hint = likely === undefined ? '' : ` Is it '${likely}'?`;
    yield {
      message: `One module must be called '${LANGUAGE_MODULE}'.${hint}`,
      span: entries.find(({ name }) => name === likely)?.keySpan ?? root.modules.keySpan,
      predicts: `create_topology requires exactly one spec named '${LANGUAGE_MODULE}' (the language module), got 0`,
      fixes: renames
        .slice(0, MAX_RENAMES)
        .map(({ name, keySpan }) =>
          suggestion(`Rename '${name}' to '${LANGUAGE_MODULE}'`, [{ span: keySpan, newText: LANGUAGE_MODULE }]),
        ),
    };
  },
};
