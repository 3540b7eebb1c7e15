// What other settings would have decided, as `foresail what-if --json` says it (lab/rerun/what_if.py).

import type { AnnouncedSettings } from "./answers";

export interface Differing { cycle: number; seq: number; cluster_time_seconds: number; kind: string; before: string; after: string; before_why: string; after_why: string }
/** What an answer was computed over, where that goes on: a recording that is being written, or a copy of a log. */
export interface LogRead {
  grows: boolean;
  copied?: { first_seq: number; last_seq: number; last_ms: number; from_seq: number; whole: boolean };
}
export interface WhatIf {
  loop: string;
  cycles: [number, number];
  decisions: Record<string, number>;
  figures: { name: string; before: number; after: number }[];
  differing: Differing[];
  log: LogRead;
}

export interface Changeable { name: string; value: string; meaning: string }

/** The settings of the agents that a what-if can change, with what is in force. */
export function changeable(processes: AnnouncedSettings[]): Changeable[] {
  const found = new Map<string, Changeable>();
  for (const { process, rows } of processes) {
    const agent = /^agent-(.+)$/.exec(process)?.[1];
    if (!agent) continue;
    for (const { name, value, meaning } of rows) {
      if (typeof value !== "number" && typeof value !== "boolean") continue;
      const full = name.startsWith("thresholds.") ? `agents.${agent}.${name.slice(11)}` : `agents.${name}`;
      if (!name.includes("calibration") && /^(thresholds|value)\./.test(name)) found.set(full, { name: full, value: String(value), meaning });
    }
  }
  return [...found.values()].sort((left, right) => left.name.localeCompare(right.name));
}
