import type { Uri } from 'vscode';

/** The last part of a path. */
export const nameOf = ({ path }: Uri): string => path.split('/').at(-1) ?? path;
