// All of the engine in one bundle, which the programs on Node share.
export * from './index';
export * from './launch';
