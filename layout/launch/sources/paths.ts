/** No path is longer, in characters. Patterns that take the square of a text's length are tried on no more than that. */
const MAX_PATH = 4_096;

/** A directory and a path below it as one path, without `.` and `..` where they can be resolved. */
export function joinPath(directory: string, path: string): string {
  const whole = path.startsWith('/') || directory === '' ? path : `${directory}/${path}`;
  const parts: string[] = [];
  for (const part of whole.split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..' && parts.at(-1) !== '') {
      parts.pop();
    } else if (part !== '.' && (part !== '' || parts.length === 0)) {
      parts.push(part);
    }
  }
  return parts.join('/') || (whole.startsWith('/') ? '/' : '.');
}

/** The name of a file without its folder. */
export function lastPart(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The directory of a path; `.` for a bare name. */
export function directoryOf(path: string): string {
  const cut = path.lastIndexOf('/');
  return cut < 0 ? '.' : cut === 0 ? '/' : path.slice(0, cut);
}

/** How many directories above a file are searched for the files that it names. */
const MAX_ANCESTORS = 8;

/**
 * Where a file that a launch file names may lie: at the path itself, beside the launch file, and from each directory above
 * it, the repository's root among them. A path of a container or with an unknown start is also tried by its ends.
 * @param from the file that names it
 * @param path the path as written; `null` pieces are not known
 */
export function candidatePaths(from: string, path: string): string[] {
  if (path.length > MAX_PATH) {
    return [];
  }
  const ancestors = ancestorsOf(directoryOf(from));
  const ends = path.startsWith('/') ? endsOf(path) : [path];
  const candidates = path.startsWith('/') ? [path] : [];
  for (const end of ends) {
    candidates.push(...ancestors.map((directory) => joinPath(directory, end)));
  }
  return [...new Set(candidates)];
}

function ancestorsOf(directory: string): string[] {
  const ancestors = [directory];
  let current = directory;
  for (let level = 0; level < MAX_ANCESTORS && current !== '/' && current !== '.' && !current.endsWith('..'); level++) {
    current = directoryOf(current);
    ancestors.push(current);
  }
  return ancestors;
}

/** How many ends of an absolute path are tried. */
const MAX_ENDS = 6;

/** The ends of an absolute path with at least two components: `/root/slime/scripts/x.sh` is `slime/scripts/x.sh`, `scripts/x.sh`. */
function endsOf(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '');
  return parts
    .slice(1, -1)
    .slice(0, MAX_ENDS)
    .map((_, index) => parts.slice(index + 1).join('/'));
}
