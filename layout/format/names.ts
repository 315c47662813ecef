// Beside the description of the keys, which is large: the panel needs this and not that.

/** The name that exactly one of `modules` must have. */
export const LANGUAGE_MODULE = 'language';
