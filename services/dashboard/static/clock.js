// The server's wall clock, so that ages are right when the browser's clock is not.

let offset = 0;

export function set(nowMs) {
  offset = nowMs - performance.now();
}

export function now() {
  return performance.now() + offset;
}

/** Seconds since a server time stamp in milliseconds. */
export function secondsSince(milliseconds) {
  return milliseconds ? Math.max(0, (now() - milliseconds) / 1000) : null;
}
