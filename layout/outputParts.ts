import { z } from 'zod';

// Descriptions of what the command line prints as JSON. Other files import types of them alone, so that no bundle holds them.

/** A whole number from 0. */
export const whole = z.int().min(0);

export const ranks = z.array(whole).describe('Global ranks.');

/** A value as nobody changes it. */
export type Plain<T> = T extends object ? { readonly [K in keyof T]: Plain<T[K]> } : T;
