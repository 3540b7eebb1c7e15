// What the server answers, by address. `npm run types` writes it as a JSON Schema, and
// tests/dashboard/test_answer_types.py holds the server's answers over recordings against that.

import type { Band } from "./band";
import type { Comparison } from "./compare";
import type { Incident } from "./incident";
import type { Models } from "./models";
import type { Runs } from "./runs";
import type { DecisionRow, Row, Sections, Story } from "./sections";
import type { WhatIf } from "./whatif";

type Values = (number | null)[];

export interface Mark { seq: number; ms: number; kind: string; agent: string; cycle: number; text: string; until_ms?: number }

export interface Outline {
  whole: boolean;
  incarnation: string;
  first_seq: number;
  last_seq: number;
  first_ms?: number;
  last_ms?: number;
  first_cycle?: number | null;
  last_cycle?: number | null;
  marks: Mark[];
}

export interface State { seq: number; recorded_ms: number; sections: Sections; rows: Row[] }

export interface DecidedRow extends DecisionRow { rails: string[]; recorded_ms: number; cluster_time_seconds: number; agent: string; kind: string }
export interface Decided {
  rows: DecidedRow[];
  more: boolean;
  decisions: number;
  acted: number;
  choices: Record<string, [string, number][]>;
  lost_to: { rule: string; by: string; count: number }[];
}

export interface LogRow { seq: number; ms: number; subject: string; cycle: number | null; text: string; bytes: number }
export interface Found { rows: LogRow[]; searched_to: number; first_seq: number; more: boolean }

export interface DecidedAbout { cycle: number; seq: number; label: string; aim: string; became: string[]; rails: string[]; cluster_time_seconds: number }
export interface ReactedTo { kind: string; object: string; time_seconds: number; lag_seconds: number | null; text: string; seq: number }
export interface PodRow { ids: string; phase: string; pending_class: string | null; restarts: number }
export interface Rail { rail: string; about: string; used: number | null; limit: number; unit: string; left_seconds: number | null; holds: boolean }

/** One node or workload up to a moment, oldest first. */
export interface History { at: number[]; pods: PodRow[]; rails: Rail[]; reactions: ReactedTo[]; decisions: DecidedAbout[] }

/** What runs on a node, by workload; where that is too much to tell, by namespace: an asterisk stands for all. */
export interface Placed { workload: string; pods: number; cpu_request_cores: number; memory_request_bytes: number; unhealthy: number; restarted: number }

export interface NodeHistory extends History {
  now: Record<string, number | boolean | string | null>;
  cycles: number[];
  series: Record<string, Values>;
  /** How many machines have as many cores and as much memory; what is requested on them, and in which bands it was expected. */
  same_size: number;
  bands: Band[];
  placed: Placed[];
  features: { target: string; feature: string; value: number | null; contribution: number; unit: string }[];
  model: string | null;
  alarm_ratio: number | null;
}

export interface WorkloadHistory extends History {
  now: { wanted?: number | null; ready?: number | null; autoscaled?: boolean; least?: number; most?: number; replica_cpu_cores?: number | null };
  series: { wanted: Values; ready: Values; served: Values; failed: Values };
  bands: Band[];
  ahead: Band[];
}
export interface WorkloadRow { name: string; wanted: number | null; ready: number | null; acted: number }

/** One value per node, in the order of the names. */
export interface Measured { by: string; unit: string; highest: number; values: Values }

export interface SettingRow {
  name: string;
  value: unknown;
  origin: "changed" | "set" | "worked out" | "default";
  default: unknown;
  meaning: string;
  flag: string | null;
  changes: { seq: number; before: unknown; after: unknown }[];
}
export interface AnnouncedSettings {
  process: string;
  config_hash: string;
  code_version: string;
  model_ids: string[];
  versions: { seq: number; ms: number; config_hash: string }[];
  rows: SettingRow[];
}

export interface Answers {
  "/api/state": { now_ms: number; seq: number; sections: Sections };
  "/api/moment": State;
  "/api/outline": Outline;
  "/api/cycles/CYCLE": Story;
  "/api/decisions": Decided;
  "/api/incidents": { incidents: Incident[]; forgotten: number };
  "/api/log": { rows: LogRow[] };
  "/api/log/search": Found;
  "/api/nodes/NODE": NodeHistory;
  "/api/measures": Measured;
  "/api/workloads": { workloads: WorkloadRow[] };
  "/api/workloads/WORKLOAD": WorkloadHistory;
  "/api/models": Models;
  "/api/runs": Runs;
  "/api/compare": Comparison | { nothing: string };
  "/api/settings": { processes: AnnouncedSettings[] };
  "/api/what-if": WhatIf;
}
