// The live feed: one stream of updates; a hidden page lets go of it, since browsers allow six connections per host.

import { cut } from "./asking";
import { clock } from "./clock.svelte";
import type { Row, Sections, Update } from "./sections";

const KEPT_ROWS = 300;
const RETRY_MS = 2000;

class Feed {
  sections = $state.raw<Partial<Sections>>({});
  /** Newest first. */
  rows = $state.raw<Row[]>([]);
  /** Rows that this page never got because it was behind. */
  skipped = $state(0);
  offline = $state(false);
  #source: EventSource | null = null;

  /** Whether new events are to be expected: not of a file that is not written any more. */
  get goesOn(): boolean {
    return !this.sections.head?.file || this.sections.head.grows;
  }

  start(): void {
    if (cut) return this.#update({ now_ms: cut.made_ms, skipped: 0, ...(cut.moments.at(-1) as Pick<Update, "sections" | "rows">) });
    document.addEventListener("visibilitychange", () => (document.hidden ? this.stop() : this.#connect()));
    window.addEventListener("pagehide", () => this.stop());
    this.#connect();
  }

  stop(): void {
    this.#source?.close();
    this.#source = null;
  }

  #connect(): void {
    if (this.#source || document.hidden) return;
    const source = new EventSource("/api/stream");
    this.#source = source;
    source.addEventListener("update", (event) => this.#update(JSON.parse(event.data) as Update));
    source.onopen = () => (this.offline = false);
    source.onerror = () => {
      this.offline = true;
      if (source.readyState !== EventSource.CLOSED) return;
      this.#source = null;
      setTimeout(() => this.#connect(), RETRY_MS);
    };
  }

  #update(message: Update): void {
    clock.set(message.now_ms);
    const before = this.sections.head?.incarnation;
    const after = message.sections.head?.incarnation;
    if (before && after && before !== after) return location.reload();
    this.sections = { ...this.sections, ...message.sections };
    const newest = this.rows[0]?.[0] ?? 0;
    const fresh = message.rows.filter(([seq]) => seq > newest).reverse();
    if (fresh.length) this.rows = [...fresh, ...this.rows].slice(0, KEPT_ROWS);
    this.skipped += message.skipped;
  }
}

export const feed = new Feed();
