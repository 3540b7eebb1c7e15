// The server's wall clock, so that ages are right when the browser's clock is not.

const TICK_MS = 250;

class Clock {
  #offset = 0;
  #ticked = 0;
  /** Server time in milliseconds, four times a second. */
  now = $state(0);

  set(nowMs: number): void {
    this.#offset = nowMs - performance.now();
    this.tick();
  }

  tick(): void {
    this.#ticked = performance.now();
    this.now = this.#ticked + this.#offset;
  }

  /** Tick where no update of the feed did: each tick paints the page anew. */
  tickIfDue(): void {
    if (performance.now() - this.#ticked >= TICK_MS) this.tick();
  }

  /** Seconds since a server time stamp; null without one. */
  since(milliseconds: number | null | undefined): number | null {
    return milliseconds ? Math.max(0, (this.now - milliseconds) / 1000) : null;
  }
}

export const clock = new Clock();
setInterval(() => clock.tickIfDue(), TICK_MS);
