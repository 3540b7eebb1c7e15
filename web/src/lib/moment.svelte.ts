// The moment that is shown: none (the newest), or a position of the log, which the address holds.

import { address } from "./address.svelte";
import type { Mark, Outline, State } from "./answers";
import { ask } from "./asking";
import { feed } from "./feed.svelte";
import { words } from "./format.js";
import { placesOf, type Incident } from "./incident";

export const SPEEDS = [1, 10, 100, 1000];
const TICK_MS = 250;
const OUTLINE_MS = 5000;
const INCIDENTS_MS = 30_000;
/** As many as the server keeps. */
const MOST_MARKS = 4000;

class Moment {
  loaded = $state.raw<State | null>(null);
  outline = $state.raw<Outline | null>(null);
  /** Incidents up to the newest, as marks; the server reads the log for them, so they are asked for seldom. */
  incidents = $state.raw<Mark[]>([]);
  problem = $state("");
  speed = $state(10);
  playing = $state(false);
  #busy = false;
  #next = "";
  #clock = 0;
  #wanted = 0;
  #outlineAsked = false;
  /** The newest event when incidents were asked for. */
  #incidentsTo = 0;

  get at(): number | null {
    return address.number("at");
  }

  /** Wall time of what is shown, in milliseconds. */
  get ms(): number | null {
    return this.at === null ? (feed.sections.head?.newest_ms ?? null) : (this.loaded?.recorded_ms ?? null);
  }

  start(): void {
    void this.#readOutline();
    setInterval(() => { if (!document.hidden) this.#readOn(); }, OUTLINE_MS);
    setInterval(() => this.#tick(), TICK_MS);
    setInterval(() => { if (!document.hidden && feed.goesOn) void this.#readIncidents(); }, INCIDENTS_MS);
  }

  /** Show a position, recorded time, cycle or cluster time in seconds; the newest asked for wins while one is being fetched. */
  show(query: { seq: number } | { ms: number } | { cycle: number } | { cluster: number }): void {
    this.#next = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(Math.round(value))])).toString();
    if (!this.#busy) void this.#fetch();
  }

  /** Go back to the newest; an answer that is still under way for a moment of the past is let go. */
  live(): void {
    this.#wanted += 1;
    this.playing = false;
    this.#next = "";
    this.problem = "";
    address.change({ at: null, run: null });
  }

  /** Step by so many cycles, as far as there are any. */
  step(cycles: number): void {
    const cycle = this.#cycle();
    if (cycle === null) return;
    const to = Math.min(this.outline?.last_cycle ?? Infinity, Math.max(this.outline?.first_cycle ?? 0, cycle + cycles));
    if (to !== cycle) this.show({ cycle: to });
  }

  /** Step to the decision to act before or after this moment. */
  stepDecision(direction: 1 | -1): void {
    const marks = (this.outline?.marks ?? []).filter((mark) => mark.kind === "decision");
    const cycle = this.#cycle() ?? 0;
    const to = direction > 0 ? marks.find((mark) => mark.cycle > cycle) : marks.findLast((mark) => mark.cycle < cycle);
    if (to) this.show({ cycle: to.cycle });
  }

  togglePlay(): void {
    this.playing = !this.playing;
    if (this.playing && (this.at === null || this.ms === this.outline?.last_ms)) this.show({ ms: this.outline?.first_ms ?? 0 });
    this.#clock = 0;
  }

  /** Ask for what came since; of a sealed file, too, as long as the server still reads it. */
  #readOn(): void {
    const head = feed.sections.head;
    if (feed.goesOn || (head && (this.outline?.last_seq ?? 0) < head.seq)) void this.#readOutline();
    if (!feed.goesOn && head && head.reads_to === null && this.#incidentsTo < head.seq) void this.#readIncidents();
  }

  #cycle(): number | null {
    return (this.at === null ? feed.sections.head?.cycle : this.loaded?.sections.head.cycle) ?? null;
  }

  #tick(): void {
    if (!this.playing || this.#busy || !this.loaded || this.at === null) return;
    this.#clock = Math.max(this.#clock, this.loaded.recorded_ms) + TICK_MS * this.speed;
    if (this.#clock >= (this.outline?.last_ms ?? 0)) {
      this.playing = false;
      this.show({ ms: this.outline?.last_ms ?? 0 });
    } else this.show({ ms: this.#clock });
  }

  async #fetch(): Promise<void> {
    this.#busy = true;
    while (this.#next) {
      const asked = this.#next;
      const wanted = this.#wanted;
      this.#next = "";
      const answer = await ask(`/api/moment?${asked}`);
      const state = answer?.ok ? ((await answer.json()) as State) : null;
      if (wanted !== this.#wanted) continue;
      if (state) {
        this.loaded = state;
        this.problem = "";
        address.change({ at: state.seq, run: state.sections.head.incarnation });
      } else if (answer?.status === 404) {
        if (!asked.startsWith("cycle")) this.problem = "The log holds no such moment.";
      } else this.problem = "The server does not answer.";
    }
    this.#busy = false;
  }

  /** Ask for the outline behind what is known of it; one answer at a time, since its marks are added. */
  async #readOutline(): Promise<void> {
    if (this.#outlineAsked) return;
    this.#outlineAsked = true;
    const known = this.outline;
    const after = known ? known.last_seq : 0;
    const answer = await ask(`/api/outline?after=${after}`);
    const read = answer?.ok ? ((await answer.json().catch(() => null)) as Outline | null) : null;
    this.#outlineAsked = false;
    if (!read) return;
    const goesOn = known !== null && known.first_seq === read.first_seq && known.whole === read.whole;
    if (read.whole && !known?.whole) void this.#readIncidents();
    if (goesOn || after === 0) this.outline = { ...read, marks: [...(goesOn ? known.marks : []), ...read.marks].slice(-MOST_MARKS) };
    else { this.outline = null; void this.#readOutline(); }
  }

  async #readIncidents(): Promise<void> {
    this.#incidentsTo = feed.sections.head?.seq ?? 0;
    const answer = await ask("/api/incidents");
    if (!answer?.ok) return;
    const { incidents } = (await answer.json()) as { incidents: Incident[] };
    this.incidents = incidents.flatMap((one) => one.damage_ms === null ? [] : [{
      seq: one.steps.find((step) => step.damage)?.seq ?? one.steps[0]?.seq ?? 0, ms: one.damage_ms, kind: "incident", agent: "", cycle: 0,
      text: `incident ${one.number}: ${words(one.kind)} ${placesOf(one)[0] ?? ""}`,
      until_ms: one.end_ms ?? this.outline?.last_ms ?? one.damage_ms,
    }]);
  }
}

export const moment = new Moment();
