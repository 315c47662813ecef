import { readFileSync } from 'node:fs';
import Ajv from 'ajv';
import { Job, JobSpec } from 'kubernetes-models/batch/v1';
import { ConfigMap, PodTemplateSpec, Service } from 'kubernetes-models/v1';

const CUSTOM = 'test/fixtures/kubernetes/custom-resources.schema.json';

const custom = new Ajv({ allowUnionTypes: true, strict: true, strictRequired: false });
custom.addSchema(JSON.parse(readFileSync(CUSTOM, 'utf8')));

/**
 * Holds an object against the published schema of its kind; what Kubernetes itself defines in it, against that.
 * @throws Error with what does not fit
 */
export function validate(object: { readonly kind: string }): void {
  const core = { ConfigMap, Service, Job }[object.kind];
  if (core) {
    new core(object as never).validate();
  } else {
    validateCustom(object);
  }
  for (const template of podTemplates(object)) {
    new PodTemplateSpec(template as never).validate();
  }
}

function validateCustom(object: { readonly kind: string }): void {
  const fits = custom.getSchema(`custom-resources#/definitions/${object.kind}`);
  if (!fits?.(object)) {
    throw new Error(fits ? custom.errorsText(fits.errors) : `there is no schema of ${object.kind}`);
  }
  for (const job of find(object, 'replicatedJobs').flat() as { template: { spec: object } }[]) {
    new JobSpec(job.template.spec as never).validate();
  }
}

/** The templates of pods, anywhere in an object. */
export function podTemplates(object: unknown): Record<string, unknown>[] {
  const templates = find(object, 'template') as { spec?: { containers?: unknown } }[];
  return templates.filter(({ spec }) => spec?.containers !== undefined) as Record<string, unknown>[];
}

/** Everything under a key, anywhere in an object. */
export function find(value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return Object.entries(value).flatMap(([name, item]) => [...(name === key ? [item] : []), ...find(item, key)]);
}
