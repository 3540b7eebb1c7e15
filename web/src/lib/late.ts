/** So many intervals between observations without anything new, and what is shown is late. */
export const LATE_INTERVALS = 3;

export function isLate(seconds: number | null, intervalMs: number | null | undefined): boolean {
  return seconds !== null && !!intervalMs && seconds * 1000 > LATE_INTERVALS * intervalMs;
}
