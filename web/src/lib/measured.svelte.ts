// What nodes are coloured by: the risk, which every update brings, or another measure, which is asked for.

import { address } from "./address.svelte";
import type { Measured } from "./answers";
import { cut } from "./asking";
import { cellsOf, said } from "./cells";
import { number, percent, watts } from "./format.js";
import { read } from "./reading";
import { view } from "./view.svelte";

export const MEASURES = {
  risk: "risk", demand: "predicted demand", cpu_used: "CPU used", cpu_requested: "CPU requested",
  memory_used: "memory used", memory_requested: "memory requested", power: "power (modelled)", price: "price (by the score)",
} as const;
const HIGHEST = 99;
const figure = (value: number, unit: string) => (unit === "W" ? watts(value) : `${number(value)} ${unit}`);

class MeasuredNodes {
  #loaded = $state.raw<Measured | null>(null);

  get by(): keyof typeof MEASURES {
    const asked = address.get("by");
    return !cut && asked in MEASURES ? (asked as keyof typeof MEASURES) : "risk";
  }

  /** Two characters per node, as `services/dashboard/node_cells.py` writes the risk. */
  get cells(): string[] {
    const risks = cellsOf(view.sections.node_cells ?? "");
    if (this.by === "risk") return risks;
    const known = this.#loaded?.by === this.by ? this.#loaded : null;
    return risks.map((cell, place) => {
      const value = known?.values[place] ?? null;
      if (cell === "zz" || cell === "!!") return cell;
      return value === null ? "--" : String(Math.min(HIGHEST, Math.floor((100 * value) / (known?.highest || 1)))).padStart(2, "0");
    });
  }

  /** The end of the scale, in words. */
  get highest(): string {
    return this.#loaded?.unit ? figure(this.#loaded.highest, this.#loaded.unit) : "1";
  }

  /** What the cell of a node says. */
  text(place: number, cell: string): string {
    if (this.by === "risk" || !/^\d\d$/.test(cell)) return cell === "--" && this.by !== "risk" ? "not known" : said(cell);
    const value = this.#loaded?.values[place] ?? null;
    if (value === null) return "not known";
    if (this.#loaded?.unit) return figure(value, this.#loaded.unit);
    return `${MEASURES[this.by]} ${this.by === "demand" ? number(value) : percent(value)}`;
  }

  async load(at: number | null): Promise<void> {
    const by = this.by;
    if (by === "risk") return;
    const got = await read<Measured>("/api/measures", { by, at });
    if (by === this.by && at === address.number("at")) this.#loaded = got.value;
  }
}

export const measured = new MeasuredNodes();
