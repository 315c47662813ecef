import { gibibytes, type Score } from '../layout';

/** The memory that a layout needs, as short as an editor shows it: `~31 of 80 GiB`, `~31 GiB` of a GPU that is not known. */
export function neededText({ totalBytes, gpuBytes }: Score): string {
  return `~${gibibytes(totalBytes)}${gpuBytes === null ? '' : ` of ${gibibytes(gpuBytes)}`} GiB`;
}
