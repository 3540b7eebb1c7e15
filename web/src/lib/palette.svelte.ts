// The palette's entries: pages, nodes, workloads, decisions, and any cycle by its number.

import { address } from "./address.svelte";
import { clusterTime, words, zoneSeconds } from "./format.js";
import { PAGES } from "./pages";
import { view } from "./view.svelte";

/** Where an entry leads: an address, or a cluster time, in seconds, at which the page that is open is shown. */
export interface Entry { kind: string; text: string; to: string; time?: number }

const MOST = 12;

/** How well letters of a query stand in a text, in their order; -1 where they do not. Near and early is better. */
export function fit(query: string, text: string): number {
  let score = 0;
  let from = 0;
  for (const letter of query) {
    const at = text.indexOf(letter, from);
    if (at < 0) return -1;
    score += at === from ? 3 : 1 / (1 + at - from);
    from = at + 1;
  }
  return score - text.length / 200;
}

const DAY_SECONDS = 86_400;

/** The cluster time that a text like `12:05`, `12:05:30` or `2026-11-28 12:05` names; without a date the last one up
 * to the moment that is shown, or on its day where there is none. */
export function timeOf(text: string, now: number | null): number | null {
  const found = /^(?:(\d{4}-\d\d-\d\d)[ t])?(\d{1,2}):(\d\d)(?::(\d\d))?z?$/.exec(text);
  if (!found || now === null) return null;
  const [hours, minutes, seconds] = [Number(found[2]), Number(found[3]), Number(found[4] ?? 0)];
  if (hours > 23 || minutes > 59 || seconds > 59) return null;
  const ofDay = hours * 3600 + minutes * 60 + seconds;
  const zone = zoneSeconds(now);
  if (found[1]) return Date.parse(`${found[1]}T00:00:00Z`) / 1000 + ofDay - zone;
  const today = Math.floor((now + zone) / DAY_SECONDS) * DAY_SECONDS + ofDay - zone;
  return today <= now ? today : today - DAY_SECONDS;
}

class Palette {
  open = $state(false);
  query = $state("");

  show(): void {
    this.query = "";
    this.open = true;
  }

  get entries(): Entry[] {
    const query = this.query.trim().toLowerCase();
    const time = timeOf(query, view.sections.head?.cluster_time_seconds ?? null);
    if (time !== null) return [{ kind: "moment", text: `${clusterTime(time)}, cluster time`, to: "#", time }];
    const all = [...this.#cycle(query), ...this.#known()];
    if (!query) return all.slice(0, MOST);
    const fitting = all.map((entry) => ({ entry, score: /^\d+$/.test(query) && entry.kind === "cycle" ? 99 : fit(query, entry.text.toLowerCase()) }));
    return fitting.filter((one) => one.score >= 0).sort((left, right) => right.score - left.score).slice(0, MOST).map((one) => one.entry);
  }

  #cycle(query: string): Entry[] {
    return /^\d+$/.test(query) ? [{ kind: "cycle", text: `the decision of cycle ${query}`, to: address.link("decisions", { cycle: query }) }] : [];
  }

  #known(): Entry[] {
    const pages = PAGES.map((page) => ({ kind: "page", text: page.title, to: address.link(page.name) }));
    const nodes = (view.sections.node_names ?? []).map((name) => ({ kind: "node", text: name, to: address.link("nodes", { node: name }) }));
    const decided = (view.sections.recent ?? []).filter((one) => one.noop === null).map((one) => ({
      kind: "decision", text: `${one.cycle} ${words(one.label)} ${one.target}`, to: address.link("decisions", { cycle: one.cycle }),
    }));
    const targets = new Set((view.sections.recent ?? []).map((one) => one.target.split(" to ")[0] ?? "").filter((target) => target.includes("/")));
    const workloads = [...targets].map((name) => ({ kind: "workload", text: name, to: address.link("workloads", { workload: name }) }));
    return [...pages, ...decided, ...workloads, ...nodes];
  }
}

export const palette = new Palette();
