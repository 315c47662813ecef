/*
 * How much of a file is read. Every limit lies far beyond any layout, and together they keep the check of one keystroke
 * well under the 200 ms that a person notices, whatever the file holds.
 */

/** The longest text, in UTF-16 units: more than twice a layout of ten thousand lines. */
export const MAX_TEXT = 384 * 1024;

/**
 * The longest text for which the full YAML parser is asked where a file is not plain: it takes up to 3 ms a KiB where
 * brackets or errors abound.
 */
export const MAX_FULL_YAML = 32 * 1024;

/** How many maps and lists may stand in one another; a layout needs five. */
export const MAX_DEPTH = 32;

/** How many values a file may hold once its aliases are followed: aliases of aliases make billions out of a few lines. */
export const MAX_NODES = 100_000;

/** The longest text that one key may hold; a description is far shorter. */
export const MAX_STRING = 10_000;

/** How many diagnostics of one severity are listed. */
export const MAX_DIAGNOSTICS = 1_000;

/** How many characters of one message are shown. */
export const MAX_MESSAGE = 4_000;

/**
 * How many characters of Megatron-LM's own message are kept: some spell out every rank, and a prediction is of use only
 * when it is the whole message.
 */
export const MAX_PREDICTION = 64 * 1024;

/**
 * How many characters the texts of all diagnostics of one file may have together; beyond it only the first `MAX_CUT_TEXT` of
 * each text are kept, so that a file of 50 KB cannot fill the memory of whoever lists it.
 */
export const MAX_FILE_TEXTS = 256 * 1024;
export const MAX_CUT_TEXT = 200;
