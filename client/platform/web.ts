import type { Platform } from './platform';

/** The editor in a browser: the server is a worker, and nothing can be started. */
export const platform: Platform = {
  async loadClient(dist) {
    const { clientsOf } = await import('./webClient');
    return clientsOf(dist);
  },
};
