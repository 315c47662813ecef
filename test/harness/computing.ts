/**
 * How long this process has computed: unlike a clock, it does not count the time in which other programs have the processors.
 * Milliseconds.
 */
export function computingTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
