// What is shown: the newest state, or that of a moment of the log.

import { clock } from "./clock.svelte";
import { feed } from "./feed.svelte";
import { moment } from "./moment.svelte";
import type { Agent, Row, Sections } from "./sections";

class View {
  /** Whether new events are to be expected: not of a file, nor of a moment of the past. */
  get isLive(): boolean {
    return moment.at === null && feed.goesOn;
  }

  get sections(): Partial<Sections> {
    return moment.at === null ? feed.sections : (moment.loaded?.sections ?? {});
  }

  /** Newest first. */
  get rows(): Row[] {
    return moment.at === null ? feed.rows : (moment.loaded?.rows.toReversed() ?? []);
  }

  agent(letter: string): Agent | undefined {
    return feed.sections.agents?.find((one) => one.letter === letter);
  }

  /** What the clock that stamps events shows, in milliseconds: that of a recording in virtual time is not the wall's,
   * so of a file that is still written it is its newest event and the wall time since. */
  get now(): number {
    const head = this.sections.head;
    if (this.isLive && !head?.file) return clock.now;
    return (head?.newest_ms ?? 0) + (this.isLive ? (clock.since(head?.appended_ms) ?? 0) * 1000 : 0);
  }

  /** Seconds between a stamp and the moment that is shown. */
  since(milliseconds: number | null): number | null {
    return milliseconds ? Math.max(0, (this.now - milliseconds) / 1000) : null;
  }
}

export const view = new View();
