import { z } from 'zod';

// Descriptions of what the command line prints as JSON. Other files import types of them alone, so that no bundle holds them.

/** A whole number from 0. */
export const whole = z.int().min(0);

export const ranks = z.array(whole).describe('Global ranks.');

export const file = z.string().describe('The file as the command line names it; `-` is standard input.');

export const moduleName = z.string().nullable().describe('The module; null for `parallelism`.');

/** A value whose properties are read-only, at every depth. */
export type Plain<T> = T extends object ? { readonly [K in keyof T]: Plain<T[K]> } : T;
