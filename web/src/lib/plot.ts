// What every chart shares: colours of the page, axes in the page's type, times of the cluster.

import uPlot from "uplot";
import { clusterTime, number } from "./format.js";

export type Values = (number | null)[];

/** A custom property of the page, so that charts follow dark and light. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** A colour let through to a share. */
export function faded(name: string, share: number): string {
  const hex = colour(name);
  return `${hex}${Math.round(share * 255).toString(16).padStart(2, "0")}`;
}

/** Seconds between two times on an axis. */
const TIME_STEPS = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
const FONT = "12px Inter, system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', Arial, sans-serif";

export function timeAxis(shown = true): uPlot.Axis {
  return {
    show: shown, stroke: colour("faint"), font: FONT, size: 22, gap: 2, space: 64, incrs: TIME_STEPS,
    grid: { stroke: colour("line"), width: 1 }, ticks: { show: false },
    values: (_, splits) => splits.map((at) => clusterTime(at).slice(11, 16)),
  };
}

export function valueAxis(said: (value: number) => string = number): uPlot.Axis {
  return {
    stroke: colour("faint"), font: FONT, size: 46, gap: 4, space: 28,
    grid: { stroke: colour("line"), width: 1 }, ticks: { show: false },
    values: (_, splits) => splits.map((value) => said(value)),
  };
}

/** Several curves with times of their own as the one table that a plot reads; gaps are spanned, not drawn as ends. */
export function joined(curves: [times: (number | null)[], values: Values][]): uPlot.AlignedData {
  const tables = curves.map(([times, values]) => {
    const pairs = times.flatMap((at, place): [number, number | null][] => (at === null ? [] : [[at, values[place] ?? null]]));
    return [pairs.map(([at]) => at), pairs.map(([, value]) => value)] as uPlot.AlignedData;
  });
  return uPlot.join(tables);
}
