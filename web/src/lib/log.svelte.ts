// The log as a table: every position a row, fetched in stretches as they come into sight; or the rows of a search.

import type { Found, LogRow } from "./answers";
import { read } from "./reading";

const STRETCH = 200;
const KEPT_STRETCHES = 40;

/** Rows by position, in stretches; the ones seen longest ago are let go. */
export class Stretches {
  #known = new Map<number, LogRow[] | null>();
  version = $state(0);

  row(seq: number): LogRow | undefined {
    return this.#known.get(Math.floor(seq / STRETCH))?.find((row) => row.seq === seq);
  }

  /** Have the rows between two positions fetched. */
  want(low: number, high: number, newest: number): void {
    for (let stretch = Math.floor(low / STRETCH); stretch <= Math.floor(high / STRETCH); stretch += 1) {
      const rows = this.#known.get(stretch);
      const grown = rows && rows.length < STRETCH && (rows.at(-1)?.seq ?? 0) < Math.min(newest, (stretch + 1) * STRETCH - 1);
      if (rows === undefined || grown) void this.#fetch(stretch, rows ?? null);
    }
  }

  async #fetch(stretch: number, before: LogRow[] | null): Promise<void> {
    this.#known.set(stretch, before);
    const got = await read<{ rows: LogRow[] }>("/api/log", { from: Math.max(1, stretch * STRETCH) });
    if (!got.value) { this.#known.delete(stretch); return; }
    this.#known.delete(stretch);
    this.#known.set(stretch, got.value.rows.filter((row) => row.seq < (stretch + 1) * STRETCH));
    if (this.#known.size > KEPT_STRETCHES) this.#known.delete(this.#known.keys().next().value ?? -1);
    this.version += 1;
  }
}

/** A search from a position back in time, a stretch of the log at a time. */
export class Search {
  rows = $state.raw<LogRow[]>([]);
  problem = $state("");
  searchedTo = $state(0);
  more = $state(false);
  busy = $state(false);
  #asked = "";

  async begin(where: string, layer: string, at: number | null): Promise<void> {
    this.#asked = JSON.stringify([where, layer, at]);
    this.rows = [];
    this.more = false;
    await this.#read(where, layer, at, null);
  }

  async goOn(where: string, layer: string, at: number | null): Promise<void> {
    if (!this.busy) await this.#read(where, layer, at, this.searchedTo - 1);
  }

  async #read(where: string, layer: string, at: number | null, before: number | null): Promise<void> {
    const asked = this.#asked;
    this.busy = true;
    const got = await read<Found>("/api/log/search", { where, layer, at, before });
    if (asked !== this.#asked) return;
    this.busy = false;
    this.problem = got.problem;
    if (!got.value) return;
    this.rows = [...this.rows, ...got.value.rows];
    this.searchedTo = got.value.searched_to;
    this.more = got.value.more;
  }
}
