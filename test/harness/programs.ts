/** The Node.js that runs the built programs: `PROGRAM_NODE` where they are tested on another version than the tests run on. */
export const NODE = process.env.PROGRAM_NODE ?? process.execPath;
