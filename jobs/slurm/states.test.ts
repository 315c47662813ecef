import { describe, expect, test } from 'vitest';
import { secondsOf } from './backend';
import { endingOf, jobState, parseState } from './states';

describe('a time of Slurm', () => {
  test.each([
    ['5', 300],
    ['5:30', 330],
    ['1:00:00', 3600],
    ['1-2', 93_600],
    ['1-2:3', 93_780],
    ['1-2:3:4', 93_784],
  ])('%s is %d s', (text, seconds) => expect(secondsOf(text)).toBe(seconds));
});

describe('what Slurm says', () => {
  test.each([
    ['PENDING|Resources|', 'queued', 'Resources (it is next, once enough nodes are free)'],
    ['PENDING|QOSMaxGRESPerUser|', 'queued', 'QOSMaxGRESPerUser (a limit of its quality of service is reached)'],
    ['PENDING|SomethingNew|', 'queued', 'SomethingNew'],
    ['RUNNING|None|n[1-2]', 'running', 'n[1-2]'],
    ['SUSPENDED|None|n1', 'running', 'n1 (suspended)'],
    ['COMPLETING|None|n1', 'ending', 'completing'],
  ])('%s of a job that it has', (said, phase, detail) => {
    expect(jobState('7', parseState(said))).toEqual({ job: '7', phase, detail });
    expect(endingOf('7', parseState(said), '')).toBeNull();
  });

  test.each([
    ['CANCELLED by 1000|None|n1', 'job_cancelled'],
    ['TIMEOUT|TimeLimit|n1', 'time_limit'],
    ['DEADLINE|None|n1', 'time_limit'],
    ['NODE_FAIL|None|n1', 'node_failed'],
    ['BOOT_FAIL|None|n1', 'node_failed'],
    ['OUT_OF_MEMORY|None|n1', 'out_of_memory'],
    ['PREEMPTED|None|n1', 'preempted'],
    ['COMPLETED|None|n1', undefined],
    ['FAILED|NonZeroExitCode|n1', undefined],
    ['UNKNOWN|None|', undefined],
  ])('%s of a job that has ended', (said, code) => {
    expect(endingOf('7', parseState(said), 'n1')?.code).toBe(code);
  });
});
