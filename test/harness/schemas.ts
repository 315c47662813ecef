import { readFileSync } from 'node:fs';
import Ajv from 'ajv/dist/2020';

/** What a schema has against a value; empty where nothing. */
export function flawsBy(schema: object, value: unknown): string {
  const ajv = new Ajv({ allowUnionTypes: true, strictTypes: false, strictTuples: false });
  const fits = ajv.compile(schema);
  return fits(value) ? '' : ajv.errorsText(fits.errors);
}

const ajv = new Ajv({ allowUnionTypes: true, strictTypes: false });
const fits = ajv.compile(JSON.parse(readFileSync('schemas/smoke-events.schema.json', 'utf8')));

/** What the published schema has against a line of an event stream; null where nothing. */
export function flawOfEvent(line: string): string | null {
  return fits(JSON.parse(line)) ? null : ajv.errorsText(fits.errors);
}
