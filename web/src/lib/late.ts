/** So many intervals between observations without anything new, and what is shown is late. */
export const LATE_INTERVALS = 3;

/** Seconds after which a file that nobody sealed is not said to grow any more, however short its intervals. */
const STOPPED_SECONDS = 60;

export function isLate(seconds: number | null, intervalMs: number | null | undefined): boolean {
  return seconds !== null && !!intervalMs && seconds * 1000 > LATE_INTERVALS * intervalMs;
}

/** Whether a file to which nothing was added for so long has stopped to grow: a minute and several intervals. */
export function stoppedGrowing(seconds: number | null, intervalMs: number | null | undefined): boolean {
  return seconds !== null && seconds > STOPPED_SECONDS && (!intervalMs || isLate(seconds, intervalMs));
}
