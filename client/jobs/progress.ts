import * as vscode from 'vscode';
import { type GroupOperations, type JobState, RemainingTime, type SmokeEvent, type SmokeProgress } from '../../jobs';
import { withProgress } from '../notifications';

/** The share of a run that is done once its ranks are up, once they have imported torch, and once their groups are made. */
const UP = 0.2;
const READY = 0.3;
const MADE = 0.4;

/** The progress of a run: in words, and as a share from 0 to 1. */
export interface Step {
  readonly text: string;
  readonly share: number;
}

/** How often what is known of a run is shown, at most: less often for larger worlds, as all of it is sent each time. Milliseconds. */
const SHORTEST = 250;
const PER_RANK = 0.5;

/** Follows the progress of a run: its step at once, and its ranks and groups a few times a second. */
export class RunProgress implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<Step>();
  readonly #estimate: RemainingTime;
  readonly #ranks: number[] = [];
  readonly #groups: GroupOperations[] = [];
  #device = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #step: Step = { text: vscode.l10n.t('getting ready'), share: 0 };
  readonly onDidChange = this.#changed.event;

  /**
   * @param before how long the last passed run of this layout there took, in seconds
   * @param show shows the ranks and groups
   */
  constructor(
    before: number | undefined,
    readonly world: number,
    readonly show: () => void,
  ) {
    this.#estimate = new RemainingTime(before, Date.now());
  }

  get step(): Step {
    return this.#step;
  }

  /** The ranks that have come up. */
  get ranks(): readonly number[] {
    return this.#ranks;
  }

  /** The groups that have passed. */
  get groups(): readonly GroupOperations[] {
    return this.#groups;
  }

  get device(): string {
    return this.#device;
  }

  /** Where the job stands with its scheduler. */
  state({ phase, job, detail }: JobState): void {
    const name = job ?? '';
    const words: Record<JobState['phase'], string> = {
      submitting: vscode.l10n.t('being submitted'),
      queued: vscode.l10n.t('queued · {0} · job {1}', detail, name),
      running: vscode.l10n.t('running · {0} · job {1}', detail, name),
      ending: vscode.l10n.t('ending · {0} · job {1}', detail, name),
      disconnected: vscode.l10n.t('connection lost, job still running · {0} · job {1}', detail, name),
    };
    this.#set({ text: words[phase], share: this.#step.share });
  }

  event(event: SmokeEvent, progress: SmokeProgress): void {
    if (event.ev === 'rank') {
      this.#ranks.push(event.rank);
    } else if (event.ev === 'group' && event.ok) {
      this.#groups.push(event);
    } else if (event.ev === 'phase') {
      this.#device = event.device ?? this.#device;
    }
    const seconds = this.#estimate.secondsLeft(progress, Date.now());
    const { text, share } = stepOf(progress);
    this.#set({
      text: seconds === undefined ? text : vscode.l10n.t('{0}, about {1} left', text, timeText(seconds)),
      share,
    });
  }

  say(text: string): void {
    this.#set({ text, share: this.#step.share });
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#changed.dispose();
  }

  #set(step: Step): void {
    this.#step = step;
    this.#changed.fire(step);
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.show();
      },
      Math.max(SHORTEST, PER_RANK * this.world),
    );
  }
}

/** The step of a run: ranks come up, import torch, make their groups, and check them. */
function stepOf({ ranks, world, ready, made, groups, allGroups }: SmokeProgress): Step {
  if (ranks < world) {
    return { text: vscode.l10n.t('{0} of {1} ranks up', ranks, world), share: (UP * ranks) / world };
  }
  if (!ready) {
    return { text: vscode.l10n.t('all {0} ranks up, importing torch', world), share: UP };
  }
  if (made < 1) {
    return {
      text: vscode.l10n.t('making process groups, {0} % done', Math.floor(100 * made)),
      share: READY + (MADE - READY) * made,
    };
  }
  return {
    text: vscode.l10n.t('{0} of {1} process groups passed', groups, allGroups),
    share: MADE + ((1 - MADE) * groups) / Math.max(1, allGroups),
  };
}

/** A remaining time, rounded up to seconds or minutes. */
function timeText(seconds: number): string {
  return seconds < 90
    ? vscode.l10n.t('{0} s', Math.max(1, Math.ceil(seconds)))
    : vscode.l10n.t('{0} min', Math.ceil(seconds / 60));
}

/**
 * Shows the progress of a run in a notification with Cancel, until the run ends.
 * @param mayCancel asks for confirmation where that is needed; without it, the notification comes back
 */
export async function showProgress(
  title: string,
  progress: RunProgress,
  ended: Promise<unknown>,
  mayCancel: () => Promise<boolean>,
  cancel: () => void,
): Promise<void> {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  for (let cancelled = false; ; ) {
    const asked = await withProgress({ ...options, cancellable: !cancelled }, (report, token) => {
      let shown = 0;
      const show = ({ text, share }: Step) => {
        const increment = Math.max(0, share * 100 - shown);
        shown += increment;
        report.report({ increment, message: text });
      };
      show(progress.step);
      const listener = progress.onDidChange(show);
      return new Promise<'ended' | 'cancel'>((done) => {
        token.onCancellationRequested(() => done('cancel'));
        const end = () => done('ended');
        ended.then(end, end);
      }).finally(() => listener.dispose());
    });
    if (asked === 'ended') {
      return;
    }
    if (await mayCancel()) {
      cancelled = true;
      cancel();
    }
  }
}
