// Collects the sizes of public models from repositories that state them: writes layout/models/table.json. See README.md.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { importSource } from '../../scripts/source.mts';

const [aiconfigurator, litgpt, torchtitan, primus, slime] = process.argv.slice(2);
if (!slime) {
  console.error('usage: node tools/models/collect.mjs AICONFIGURATOR LITGPT TORCHTITAN PRIMUS SLIME (git directories)');
  process.exit(2);
}
const { factsOfConfig, parseConfig } = await importSource('layout/models/index.ts');
const { readLaunchFile } = await importSource('layout/launch/index.ts');
const git = (folder, ...args) => execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', maxBuffer: 2 ** 28 });
const revisionOf = (folder) => git(folder, 'rev-parse', 'HEAD').trim();
const textAt = (folder, path, revision = 'HEAD') => git(folder, 'show', `${revision}:${path}`);
const filesUnder = (folder, path) => git(folder, 'ls-tree', '-r', '--name-only', 'HEAD', path).trim().split('\n');

/** Organizations of litgpt's list whose models are derived from those of others. */
const DERIVED = ['garage-bAInd', 'unsloth', 'togethercomputer', 'nvidia', 'trl-lib', 'lmsys'];

/** The last revision of torchtitan with Llama 4. */
const FORMER_TORCHTITAN = '9810191bbb0385d8ac91cd31abbc7f4156a0d462';

/** Every model as `{name, source, path, config}`, the most trusted source first. */
const found = [
  ...[...fromAiconfigurator(), ...fromLitgpt(), ...fromPrimus(), ...fromSlime()],
  ...[...fromTorchtitan(), ...fromFormerTorchtitan()],
];
found.push(...fromDeepseek(found));
const rows = new Map();
const seen = new Set();
for (const { name, source, path, config } of found) {
  const read = factsOfConfig(config);
  if (read && !seen.has(name.toLowerCase())) {
    seen.add(name.toLowerCase());
    const key = JSON.stringify([source, source === 'aiconfigurator' ? name : path, read.facts, read.context]);
    const row = rows.get(key) ?? { names: [], facts: read.facts, context: read.context, source, path };
    rows.set(key, { ...row, names: [...row.names, name] });
  }
}
const sources = {
  aiconfigurator: { repository: 'ai-dynamo/aiconfigurator', revision: revisionOf(aiconfigurator) },
  litgpt: { repository: 'Lightning-AI/litgpt', revision: revisionOf(litgpt) },
  primus: { repository: 'AMD-AGI/Primus', revision: revisionOf(primus) },
  torchtitan: { repository: 'pytorch/torchtitan', revision: revisionOf(torchtitan) },
  formerTorchtitan: { repository: 'pytorch/torchtitan', revision: FORMER_TORCHTITAN },
  slime: { repository: 'THUDM/slime', revision: revisionOf(slime) },
  deepseek: { repository: 'deepseek-ai/DeepSeek-R1', revision: '5689f0a890129fcc0c9bbe2b46147321be0ea55a' },
};
const lines = [...rows.values()].map((row) => `    ${JSON.stringify(row)}`).join(',\n');
writeFileSync(
  'layout/models/table.json',
  `{\n  "sources": ${JSON.stringify(sources)},\n  "rows": [\n${lines}\n  ]\n}\n`,
);
console.log(`${seen.size} models in ${rows.size} rows`);

/** Copies of the `config.json` on Hugging Face, named `<organization>--<model>_config.json`. */
function fromAiconfigurator() {
  return filesUnder(aiconfigurator, 'aic-core/src/aiconfigurator_core/model_configs')
    .filter((path) => path.endsWith('_config.json') && !path.endsWith('_hf_quant_config.json'))
    .map((path) => ({
      name: path.split('/').at(-1).replace('_config.json', '').replace('--', '/'),
      source: 'aiconfigurator',
      path,
      config: parseConfig(textAt(aiconfigurator, path)),
    }));
}

/** The list `configs` of litgpt/config.py, evaluated by Python, in the words of a `config.json`. */
function fromLitgpt() {
  const path = 'litgpt/config.py';
  const print = `
import dataclasses, json, sys, types
module = types.ModuleType("config"); sys.modules["config"] = module
exec(sys.stdin.read(), module.__dict__)
print(json.dumps([dataclasses.asdict(module.Config(**one)) for one in module.configs]))`;
  const out = execFileSync(process.env.PYTHON ?? 'python3', ['-c', print], {
    input: textAt(litgpt, path),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  return JSON.parse(out)
    .filter(({ hf_config: { org, name } }) => org && name && !DERIVED.includes(org))
    .map((one) => ({
      name: `${one.hf_config.org}/${one.hf_config.name}`,
      source: 'litgpt',
      path,
      config: {
        num_hidden_layers: one.n_layer,
        hidden_size: one.n_embd,
        num_attention_heads: one.n_head,
        num_key_value_heads: one.n_query_groups,
        head_dim: one.head_size,
        intermediate_size: one.intermediate_size,
        // the size on Hugging Face is the padded one
        vocab_size: one.padded_vocab_size,
        max_position_embeddings: one.block_size,
        hidden_act: one.mlp_class_name === 'GptNeoxMLP' ? 'gelu' : 'silu',
        num_experts: one.n_expert,
        num_experts_per_tok: one.n_expert_per_token,
        moe_intermediate_size: one.moe_intermediate_size,
        n_shared_experts: one.n_shared_expert,
        first_k_dense_replace: one.first_k_dense_replace,
        ...(one.latent_attention ?? {}),
      },
    }));
}

/** Models of Primus that no other source has; the comment of each file names the model on Hugging Face. */
function fromPrimus() {
  const names = {
    deepseek_v2: 'deepseek-ai/DeepSeek-V2',
    deepseek_v2_lite: 'deepseek-ai/DeepSeek-V2-Lite',
    lfm2_8B_A1B: 'LiquidAI/LFM2-8B-A1B',
  };
  return Object.entries(names).map(([file, name]) => {
    const path = `primus/configs/models/megatron/${file}.yaml`;
    const text = textAt(primus, path);
    if (!text.includes(`https://huggingface.co/${name}`)) {
      throw new Error(`${path} does not name ${name}`);
    }
    const value = (key) => Number(new RegExp(`^${key}: (\\d+)`, 'm').exec(text)?.[1]);
    const dense = Number(/moe_layer_freq: "\(\[0\]\*(\d+)/.exec(text)?.[1] ?? 0);
    return {
      name,
      source: 'primus',
      path,
      config: {
        num_hidden_layers: value('num_layers'),
        hidden_size: value('hidden_size'),
        num_attention_heads: value('num_attention_heads'),
        num_key_value_heads: value('num_query_groups'),
        head_dim: value('kv_channels'),
        intermediate_size: value('ffn_hidden_size'),
        hidden_act: 'silu',
        num_experts: value('num_experts'),
        num_experts_per_tok: value('moe_router_topk') || (file.startsWith('deepseek') ? 6 : undefined),
        moe_intermediate_size: value('moe_ffn_hidden_size'),
        moe_shared_expert_intermediate_size: value('moe_shared_expert_intermediate_size'),
        first_k_dense_replace: dense,
        q_lora_rank: value('q_lora_rank'),
        kv_lora_rank: value('kv_lora_rank'),
        qk_nope_head_dim: value('qk_head_dim'),
        qk_rope_head_dim: value('qk_pos_emb_head_dim'),
        v_head_dim: value('v_head_dim'),
      },
    };
  });
}

/** The flavors of torchtitan's models: a function each, whose numbers are assigned or passed by name. */
function fromTorchtitan() {
  return ['llama3', 'deepseek_v3', 'qwen3'].flatMap((model) => {
    const path = `torchtitan/models/${model}/__init__.py`;
    const text = textAt(torchtitan, path);
    const flavors = [...text.matchAll(/^ {4}"([\w.-]+)": (_\w+),$/gm)];
    return flavors.flatMap(([, flavor, name]) => {
      const body = new RegExp(`^def ${name}\\([\\s\\S]*?(?=^def |^\\w+ = )`, 'm').exec(text)?.[0] ?? '';
      const value = (...keys) =>
        keys
          .map((key) => Number(new RegExp(`\\b${key} ?= ?(\\d+)\\b`).exec(body)?.[1]))
          .find((one) => !Number.isNaN(one));
      const dim = value('dim');
      return flavor.startsWith('debug')
        ? []
        : [
            {
              name: `torchtitan/${model}-${flavor}`,
              source: 'torchtitan',
              path,
              config: {
                num_hidden_layers: value('n_layers'),
                hidden_size: dim,
                num_attention_heads: value('n_heads'),
                num_key_value_heads: value('n_kv_heads'),
                head_dim: value('head_dim'),
                intermediate_size: value('dense_hidden_dim', 'hidden_dim') ?? computedFfn(dim, body),
                hidden_act: 'silu',
                vocab_size: value('vocab_size'),
                num_experts: value('num_experts'),
                num_experts_per_tok: value('router_top_k', 'top_k'),
                moe_intermediate_size: value('moe_hidden_dim'),
                n_shared_experts: value('num_shared_experts'),
                first_k_dense_replace: value('n_dense_layers'),
                q_lora_rank: value('q_lora_rank'),
                kv_lora_rank: value('kv_lora_rank'),
                qk_nope_head_dim: value('qk_nope_head_dim'),
                qk_rope_head_dim: value('qk_rope_head_dim', 'rope_dim'),
                v_head_dim: value('v_head_dim'),
              },
            },
          ];
    });
  });
}

/** torchtitan/models/common/feed_forward.py, compute_ffn_hidden_dim */
function computedFfn(dim, body) {
  const call = /compute_ffn_hidden_dim\(([\s\S]*?)\)/.exec(body)?.[1];
  const multiple = Number(/multiple_of=(\d+)/.exec(call ?? '')?.[1]);
  const factor = Number(/ffn_dim_multiplier=([\d.]+)/.exec(call ?? '')?.[1] ?? 1);
  return multiple ? multiple * Math.ceil(Math.floor(factor * Math.floor((8 * dim) / 3)) / multiple) : undefined;
}

/** Models of slime that no source before has, as arguments of Megatron-LM; its guides name them on Hugging Face. */
function fromSlime() {
  const names = {
    'glm4-9B': 'zai-org/GLM-Z1-9B-0414',
    'glm4-32B': 'zai-org/GLM-Z1-32B-0414',
    'glm4.5-106B-A12B': 'zai-org/GLM-4.5-Air',
    'glm4.5-355B-A32B': 'zai-org/GLM-4.5',
    'glm4.7-30B-A3B': 'zai-org/GLM-4.7-Flash',
    moonlight: 'moonshotai/Moonlight-16B-A3B',
    'minimax-m2': 'MiniMaxAI/MiniMax-M2',
    'qwen3-next-80B-A3B': 'Qwen/Qwen3-Next-80B-A3B',
    'qwen3.5-0.8B': 'Qwen/Qwen3.5-0.8B',
    'qwen3.5-4B': 'Qwen/Qwen3.5-4B',
    'qwen3.5-9B': 'Qwen/Qwen3.5-9B',
  };
  return Object.entries(names).map(([file, name]) => {
    const path = `scripts/models/${file}.sh`;
    const text = `${textAt(slime, path)}\ntorchrun pretrain_gpt.py "\${MODEL_ARGS[@]}"\n`;
    const { values } = readLaunchFile(path, text, () => null);
    const value = (key) => {
      const one = values.find((each) => each.key === `model.${key}`);
      return one && typeof one.source === 'object' ? one.value : undefined;
    };
    const freq = value('moe_layer_freq');
    return {
      name,
      source: 'slime',
      path,
      config: {
        num_hidden_layers: value('num_layers'),
        hidden_size: value('hidden_size'),
        num_attention_heads: value('num_attention_heads'),
        num_key_value_heads: value('num_query_groups'),
        head_dim: value('multi_latent_attention') ? undefined : value('kv_channels'),
        intermediate_size: value('ffn_hidden_size'),
        hidden_act: 'silu',
        vocab_size: value('vocab_size'),
        num_experts: value('num_experts'),
        num_experts_per_tok: value('moe_router_topk'),
        moe_intermediate_size: value('moe_ffn_hidden_size'),
        moe_shared_expert_intermediate_size: value('moe_shared_expert_intermediate_size'),
        first_k_dense_replace: Number(
          /^\(?\[0\]\*(\d+)\+/.exec(freq ?? '')?.[1] ?? /^\[(?:0, ?)+/.exec(freq ?? '')?.[0].match(/0/g)?.length ?? 0,
        ),
        tie_word_embeddings: value('untie_embeddings_and_output_weights') !== true,
        q_lora_rank: value('q_lora_rank'),
        kv_lora_rank: value('kv_lora_rank'),
        qk_nope_head_dim: value('qk_head_dim'),
        qk_rope_head_dim: value('qk_pos_emb_head_dim'),
        v_head_dim: value('v_head_dim'),
      },
    };
  });
}

/** Flavors of Llama 4, which torchtitan had before. */
function fromFormerTorchtitan() {
  const path = 'torchtitan/models/llama4/__init__.py';
  const text = textAt(torchtitan, path, FORMER_TORCHTITAN);
  return ['17bx16e', '17bx128e'].map((flavor) => {
    const body = text.slice(text.indexOf(`"${flavor}": Llama4Model.Config(`));
    const value = (key) => Number(new RegExp(`\\b${key}=(\\d+)\\b`).exec(body)?.[1]);
    return {
      name: `torchtitan/llama4-${flavor}`,
      source: 'formerTorchtitan',
      path,
      config: {
        num_hidden_layers: value('n_layers'),
        hidden_size: value('dim'),
        num_attention_heads: value('n_heads'),
        num_key_value_heads: value('n_kv_heads'),
        hidden_act: 'silu',
        num_experts: value('num_experts'),
        num_experts_per_tok: value('top_k'),
      },
    };
  });
}

/** The distilled models of DeepSeek-R1, by the base models that its README names; their vocabulary and context may differ. */
function fromDeepseek(known) {
  const bases = { '1.5B': 'Qwen2.5-Math-1.5B', '7B': 'Qwen2.5-Math-7B', '14B': 'Qwen2.5-14B', '32B': 'Qwen2.5-32B' };
  return Object.entries(bases).map(([size, base]) => {
    const { vocab_size, max_position_embeddings, ...config } = known.find(({ name }) => name === `Qwen/${base}`).config;
    return { name: `deepseek-ai/DeepSeek-R1-Distill-Qwen-${size}`, source: 'deepseek', path: 'README.md', config };
  });
}
