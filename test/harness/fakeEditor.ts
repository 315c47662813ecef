/** An event that a test fires itself. */
export class EventEmitter<T> {
  readonly #listeners = new Set<(value: T) => unknown>();

  readonly event = (listener: (value: T) => unknown) => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };

  fire(value: T): void {
    this.#listeners.forEach((listener) => void listener(value));
  }

  dispose(): void {
    this.#listeners.clear();
  }
}

/** A layout that the editor has open, as far as tests need it. */
const layoutAt = (path: string) => ({
  uri: { toString: () => path },
  languageId: 'parallelism-layout',
  isClosed: false,
});

/** The part of the editor's interface that parts of the client need, with two layouts open. */
export function fakeEditor() {
  const [one, two] = [layoutAt('/one.layout.yaml'), layoutAt('/two.layout.yaml')] as const;
  const edited = new EventEmitter<{ document: typeof one }>();
  const never = () => ({ dispose: () => undefined });
  class Disposable {
    static from = (...all: readonly Disposable[]) => new Disposable(() => all.forEach((part) => void part.dispose()));
    constructor(readonly dispose: () => unknown) {}
  }
  /** The documents of which diagnostics were set, in order. */
  const shown: unknown[] = [];
  const collection = { set: (uri: unknown) => shown.push(uri), delete: never, dispose: never };
  return {
    one,
    two,
    edited,
    shown,
    api: {
      EventEmitter,
      Disposable,
      languages: { createDiagnosticCollection: () => collection },
      workspace: {
        textDocuments: [one, two],
        onDidChangeTextDocument: edited.event,
        onDidOpenTextDocument: never,
        onDidCloseTextDocument: never,
      },
    },
  };
}
