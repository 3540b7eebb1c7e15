// Two recordings beside each other, as `foresail diff --clusters --json` says (lab/live/recorded_story.py).

import { number, percent } from "./format.js";
import type { LogRead } from "./whatif";

export type Pair<T> = [T, T];
export interface Lane { name: string; unit: string; values: Pair<(number | null)[]> }
export interface Line {
  name: string; unit: string; better: "higher" | "lower" | ""; windows: number; first: number | null; second: number | null;
  difference: { value: number | null; low: number | null; high: number | null }; first_better: number; second_better: number; shown: string;
}
export interface Side {
  name: string; file: string; cluster: string; simulated: boolean; source: string | null; begin: number | null; end: number | null; offset: number; cycles: number;
  messages: number; alone: number; damage: string; grows: boolean; decisions: number; acted: number; by_action: Record<string, number>; reward: number; rewarded: number;
  money_per_hour: number | null; currency: string;
}
export interface Goal { agent: string; letter: string; purpose: string; verdict: string; lines: Line[]; rewards: Pair<number>; actions: Pair<number> }
export interface Clusters {
  names: Pair<string>; by_cluster_time: boolean; window_seconds: number; windows: number; sides: Pair<Side>;
  scorecards: { name: string; verdict: string; lines: Line[] }[]; goals: Goal[]; narrative: string[]; boundary: string[];
  at: number[]; lanes: (Lane & { agent: string })[]; rows: Lane[];
}
export interface Comparison {
  decisions: Record<string, number>;
  settings: { name: string; a: unknown; b: unknown }[];
  differing: { cycle: number; kind: string; a: string; b: string; a_why: string; b_why: string }[];
  clusters: Clusters;
  log: LogRead;
}

/** Colours of the first and the second, everywhere on the page. */
export const COLOURS = ["accent", "without"] as const;

/** The newest value of a lane that is not after a place of the axis. */
export function valueAt(lane: Lane | undefined, side: 0 | 1, place: number): number | null {
  return lane?.values[side].slice(0, place + 1).findLast((value) => value !== null) ?? null;
}

/** The mean of a lane's values in a stretch of the axis that ends at a place. */
export function meanBefore(lane: Lane, side: 0 | 1, at: number[], place: number, seconds: number): number | null {
  const until = at[place] ?? 0;
  const known = lane.values[side].filter((value, here) => value !== null && (at[here] ?? 0) <= until && (at[here] ?? 0) > until - seconds) as number[];
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

export const BANDS = "with no unhealthy pod and every risk below 0.7 it is healthy, below 0.83 mitigating, else at high risk";

/** Status bands: calm with no unhealthy pod and low risk; above the first limit it is being dealt with, else risk is high. */
export function band(risk: number | null, unhealthy: number | null): { name: string; tone: "good" | "warn" | "bad" | "" } {
  if (unhealthy === null) return { name: "not observed", tone: "" };
  if (unhealthy > 0 || (risk ?? 0) >= 0.83) return { name: "high risk", tone: "bad" };
  if (risk === null) return { name: "healthy, no prediction", tone: "" };
  return risk >= 0.7 ? { name: "mitigating", tone: "warn" } : { name: "healthy", tone: "good" };
}

export function valued(value: number | null, unit: string): string {
  if (value === null) return "not seen";
  return unit === "ratio" ? percent(value) : number(value);
}

/** A difference with its sign; of shares in percent of the whole. */
export function signedDifference(value: number | null, unit: string): string {
  if (value === null) return "not known";
  const scaled = unit === "ratio" ? value * 100 : value;
  const text = number(scaled);
  return scaled > 0 && /^\d/.test(text) && text !== "0" ? `+${text}` : text;
}

export const unitText = (unit: string) => (unit === "ratio" ? "%" : unit);
