import { afterAll, beforeAll, expect } from 'vitest';
import { ServerProcess } from './client';

/** A server for the tests of one file: ready before them, and told to end after them, which it must do well. */
export function testServer(...asked: Parameters<ServerProcess['initialize']>): ServerProcess {
  const server = new ServerProcess();
  beforeAll(() => server.initialize(...asked));
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
  });
  return server;
}
