import { z } from 'zod';
import { type Plain, whole } from '../outputParts';

const position = z
  .object({ line: whole.describe('From 0.'), character: whole.describe('UTF-16 units from 0.') })
  .meta({ id: 'position' });

const range = z.object({ start: position, end: position }).meta({ id: 'range' });

/** A diagnostic in plain data, with positions in place of offsets. */
export const diagnosticOutput = z
  .object({
    code: z.string().describe('The code of the rule; `explain` prints its page.'),
    severity: z.enum(['error', 'warning', 'information']),
    message: z.string(),
    range,
    related: z.array(z.object({ message: z.string(), range })).describe('Other places that take part.'),
    predicts: z.string().nullable().describe('The error that the framework would raise; null where it raises none.'),
    speaker: z.string().describe('Whose words `predicts` are: `Megatron-LM`, or the framework that starts the job.'),
    fixes: z.array(z.object({ title: z.string(), edits: z.array(z.object({ range, newText: z.string() })) })),
  })
  .meta({ id: 'finding' });

/** A diagnostic in plain data, with positions in place of offsets. */
export type DiagnosticData = Plain<z.infer<typeof diagnosticOutput>>;
