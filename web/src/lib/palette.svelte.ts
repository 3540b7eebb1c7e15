// The palette's entries: pages, nodes, workloads, decisions, and any cycle by its number.

import { address } from "./address.svelte";
import { words } from "./format.js";
import { PAGES } from "./pages";
import { view } from "./view.svelte";

export interface Entry { kind: string; text: string; to: string }

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

class Palette {
  open = $state(false);
  query = $state("");

  show(): void {
    this.query = "";
    this.open = true;
  }

  get entries(): Entry[] {
    const query = this.query.trim().toLowerCase();
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
