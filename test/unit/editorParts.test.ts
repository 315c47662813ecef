import { expect, test, vi } from 'vitest';
import type { TextDocument } from 'vscode';
import { showFaults } from '../../client/jobs/faultDiagnostics';
import type { SmokeJobs } from '../../client/jobs/jobs';
import { ServerDiagnostics } from '../../client/serverDiagnostics';
import { EventEmitter, type fakeEditor } from '../harness/fakeEditor';

/*
 * Parts of the extension that need no more of an editor than its events.
 */

const editor = vi.hoisted(() => ({ current: undefined as unknown }));
vi.mock('vscode', async () => {
  const fake = await import('../harness/fakeEditor');
  editor.current = fake.fakeEditor();
  return (editor.current as ReturnType<typeof fakeEditor>).api;
});
const { edited, shown, one, two } = editor.current as ReturnType<typeof fakeEditor>;
const document = one as unknown as TextDocument;

test('no layout is planned, and nobody waits, where the server cannot be loaded', async () => {
  const said = new ServerDiagnostics(Promise.reject(new Error('Cannot find module')));
  expect(await said.plan(document)).toBeNull();
  expect(await said.now(document)).toBeNull();
});

test('the fault of one layout is shown again where that is edited, and no other', () => {
  vi.useFakeTimers();
  const changed = new EventEmitter<void>();
  const jobs = { onDidChange: changed.event, lastOf: () => undefined, activeOf: () => undefined };
  const faults = showFaults(jobs as unknown as SmokeJobs);
  edited.fire({ document: one });
  edited.fire({ document: one });
  vi.runAllTimers();
  expect(shown).toEqual([one.uri]);
  edited.fire({ document: two });
  faults.dispose();
  vi.runAllTimers();
  expect(shown).toEqual([one.uri]);
  vi.useRealTimers();
});
