import type { LaunchReading, LaunchValue } from '../../layout/launch';
import { Facts } from '../../layout/launch/value';

/** Every value of the tables of defaults that readings took, as `key=value`. */
const BY_DEFAULT = new Set<string>();

// the one way by which a table's values get into a reading
const { takeDefaults } = Facts.prototype;
Facts.prototype.takeDefaults = function (table, ofModel) {
  for (const [key, value] of Object.entries({ ...table.values, ...table.withExperts })) {
    BY_DEFAULT.add(`${key}=${value}`);
  }
  takeDefaults.call(this, table, ofModel);
};

/** Values that follow from others of the same reading, and so are numbers of none of its lines. */
const DERIVED =
  /(^world_size|^phases\..*\.ep|\.(nodes|gpus_per_node|dp|vpp|num_ranks|global_batch_size|rollout_gpus|data_parallel_(shard|replicate)_degree))$/;

/** Values that validation or a framework takes from another key (importedLayout.ts, megatron.ts, mimo.ts). */
const FOLLOWS: Readonly<Record<string, readonly string[]>> = {
  expt_tp: ['tp'],
  num_query_groups: ['num_attention_heads'],
  moe_ffn_hidden_size: ['ffn_hidden_size', 'hidden_size'],
  ffn_hidden_size: ['hidden_size'],
  kv_channels: ['hidden_size'],
};

/**
 * The values of a reading that come from nowhere: whose place in the text says neither them nor what they are computed from,
 * and defaults that are in no table of defaults.
 */
export function untraceable(reading: LaunchReading): string[] {
  const known = new Map(reading.values.flatMap(({ key, value }) => (value === null ? [] : [[key, value]])));
  return reading.values
    .filter((one) => one.value !== null && !isTraced(one, reading, known))
    .map(({ key, value, source }) => `${key} = ${JSON.stringify(value)} (${JSON.stringify(source)})`);
}

function isTraced(one: LaunchValue, reading: LaunchReading, known: ReadonlyMap<string, unknown>): boolean {
  const { key, value, source, offset } = one;
  if (DERIVED.test(key)) {
    return typeof value === 'number' && value >= 1;
  }
  if (source === 'default') {
    const [name, section] = [key.slice(key.lastIndexOf('.') + 1), key.slice(0, key.lastIndexOf('.') + 1)];
    return (
      BY_DEFAULT.has(`${key}=${value}`) ||
      BY_DEFAULT.has(`${key.replace(/^modules\.[^.]+\./, '')}=${value}`) ||
      /^phases\..*\.(engine|tp|pp|cp|ep|expt_tp|vpp)$/.test(key) ||
      /^modules\.[^.]+\.(cp|pp|tp|ep|expt_tp|gtp_remat|expt_gtp_remat|rank_offset)$/.test(key) ||
      (name === 'num_query_groups' && value === 1) ||
      // MIMO's example sets it wherever tp is above 1
      /^modules\.[^.]+\.sequence\.sequence_parallel$/.test(key) ||
      (FOLLOWS[name] ?? []).some((other) => known.has(`${section}${other}`))
    );
  }
  const text =
    typeof source === 'string' || offset === undefined ? '' : (reading.files.get(source.file) ?? '').slice(offset);
  if (key === 'parallelism.pipeline_model_parallel_layout' && typeof value === 'string') {
    // MindSpeed-LLM lists the layers of each stage, from which the stages are written
    return saysValue(text, value) || saysValue(text, value.match(/\d+/g) ?? []);
  }
  // a switch or the name of a type says these
  return /\.(params_dtype|order|granularity)$/.test(key)
    ? /^["']?(-|\+|true|false|\w)/i.test(text)
    : saysValue(text, value);
}

/** Whether a text begins with a value, or with an expression that makes one. */
function saysValue(text: string, value: unknown): boolean {
  const line = text.split('\n', 1)[0] ?? '';
  if (typeof value === 'boolean') {
    return /^["']?(-|\+|true|false|yes|no|on|off|[01]|\w)/i.test(line);
  }
  const isComputed = /^["']?(\$[({]|`|\d+\s*(\*|\/|\+|-|%)|\w+\s*(\*|\/\/|\+|-)\s*\w)/.test(line);
  return (
    isComputed || (Array.isArray(value) ? value : [value]).every((item) => text.slice(0, 4_000).includes(String(item)))
  );
}
