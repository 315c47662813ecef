import { MAX_DROPPED } from './messages';

/** The media types of files that are dragged from the editor, and from elsewhere. */
const FILES = ['application/vnd.code.uri-list', 'text/uri-list'];

/** Calls `drop` with the addresses of files and folders that are dropped on the panel: those of a run. */
export function takeDrops(drop: (addresses: readonly string[]) => void): void {
  const holdsFiles = ({ dataTransfer }: DragEvent) => FILES.some((type) => dataTransfer?.types.includes(type));
  window.addEventListener('dragover', (event) => {
    if (holdsFiles(event)) {
      event.preventDefault();
    }
  });
  window.addEventListener('drop', (event) => {
    if (!holdsFiles(event)) {
      return;
    }
    event.preventDefault();
    const list = FILES.map((type) => event.dataTransfer?.getData(type) ?? '').find((text) => text !== '') ?? '';
    const addresses = list.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#'));
    if (addresses.length > 0) {
      drop(addresses.slice(0, MAX_DROPPED));
    }
  });
}
