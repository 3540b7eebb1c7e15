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

  /** Wall seconds between a stamp and the moment that is shown. */
  since(milliseconds: number | null): number | null {
    if (this.isLive) return clock.since(milliseconds);
    const shown = this.sections.head?.newest_ms;
    return milliseconds && shown ? Math.max(0, (shown - milliseconds) / 1000) : null;
  }
}

export const view = new View();
