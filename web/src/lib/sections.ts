// The sections that the server sends (services/dashboard/sections.py), as the page reads them.

export interface Head {
  cluster: string;
  incarnation: string;
  simulated: boolean;
  cycle: number | null;
  cluster_time_seconds: number | null;
  interval_ms: number | null;
  newest_ms: number;
  seq: number;
  mode: string | null;
  early: string | null;
  hold: string | null;
  hold_text: string | null;
  breakers: string[];
  mismatches: { kind: string; text: string; remedy: string; since_cycle: number }[];
  replay: string | null;
  file: string | null;
  /** The file is not sealed, and followed: more of it may come. */
  grows: boolean;
  /** When it was last added to, wall time; null where nothing more comes. */
  appended_ms: number | null;
  /** Up to which event the file is still read; null once it is. */
  reads_to: number | null;
  outage: string | null;
  stale: string | null;
  source: { kind: string; name: string } | null;
  error: string | null;
}

export interface Agent { name: string; letter: string; purpose: string; colour: string; dark_colour: string }

export interface Layer {
  name: string;
  count: number;
  seq: number;
  newest_ms: number | null;
  oldest_ms: number | null;
  window: number;
}

export interface Cluster {
  nodes: number;
  nodes_ready: number;
  nodes_schedulable: number;
  nodes_asleep: number;
  pods_total: number;
  pods_running: number;
  queue_length: number;
  sla_violations: number;
  completed_tasks: number;
  energy_watts: number | null;
  energy_price: number | null;
  cpu_requested_ratio: number | null;
  memory_requested_ratio: number | null;
  cpu_used_ratio: number | null;
  memory_used_ratio: number | null;
  pending_by_class: Record<string, number>;
  interval_seconds: number;
  namespaces: string[];
}

export interface Signal {
  name: string;
  source: string;
  status: string;
  age_seconds: number | null;
  limit_seconds: number | null;
  reason: string | null;
  exceptions: number;
  simulated: boolean;
}

export interface ActionView {
  label: string;
  letter: string;
  agent: string | null;
  kind: string;
  target: string;
  parameters: Record<string, unknown>;
}

export interface Guard { guard: string; measured: number | null; limit: number | null; unit: string; text?: string }

export interface Execution {
  phase: string;
  mode: string;
  succeeded: boolean | null;
  reason: string | null;
  text: string;
  operations: string[];
  operations_total: number;
  results: Record<string, number>;
  failed_guards: Guard[];
}

export interface Verification {
  status: string;
  text: string;
  reason: string | null;
  lag_seconds: number | null;
  observed_cycle: number | null;
  failed_checks: Guard[];
}

export interface Followed { execution: Execution | null; rollback: Execution | null; verification: Verification | null }

export type Part = ActionView & Followed & { score: number };

export interface Evidence {
  name: string;
  label: string;
  value: number;
  comparison: string;
  threshold: number;
  holds: boolean;
  subject: string | null;
  age_seconds: number | null;
}

export interface Override {
  rule: string;
  by_letter: string | null;
  by_itself: boolean;
  winner_score: number | null;
  loser_score: number | null;
  winner_priority: number | null;
  loser_priority: number | null;
  text: string;
}

export interface Proposed {
  agent: string;
  letter: string;
  verdict: "won" | "lost" | "waits" | "missing";
  status: string;
  kind: string;
  target: string;
  parameters: Record<string, unknown>;
  score: number;
  priority: number;
  rule: string;
  text: string;
  reason: string | null;
  evidence: Evidence[];
  override: Override | null;
}

export interface Worth { total: number; by_agent: Record<string, number> }

export interface Story extends Followed {
  cycle: number;
  seq: number;
  recorded_ms: number;
  cluster_time_seconds: number;
  action: ActionView;
  parts: Part[];
  rule: string;
  rationale: string;
  closed_by: string;
  score: number;
  reason: string | null;
  repeat_count: number;
  profile: string;
  /** What it saw: how many signals, those too old or missing, and those that nobody measured. */
  signals: { count: number; old: Signal[]; assumed: string[] } | null;
  agents: Proposed[];
  reward: { observed: Worth | null; predicted: Worth } | null;
}

export interface DecisionRow {
  cycle: number;
  first: number;
  count: number;
  letter: string;
  label: string;
  noop: string | null;
  target: string;
  more: ActionView[];
  rule: string;
  losers: number;
  missing: string[];
  became: string;
  reward: number | null;
}

export interface Model {
  name: string;
  model_id: string;
  status: string;
  reason: string | null;
  horizon_seconds: number;
  calibrated: boolean;
}

export interface JudgedModel {
  model_id: string;
  state: string;
  why: string;
  skill: number | null;
  skill_low: number | null;
  skill_high: number | null;
  lift: number | null;
  lift_low: number | null;
  lift_high: number | null;
  positives: number;
  text: string;
}

export interface Figure {
  name: string;
  unit: string;
  total: string;
  total_verdict: string;
  step: string;
  step_verdict: string;
}

export interface Acting {
  score: string | null;
  verdict: string | null;
  text: string;
  figures: Figure[];
  cycle?: number;
  behind?: number;
  missing?: string[];
  currency?: string;
  cycles?: number[];
  totals?: number[];
}

export interface Minutes {
  at: number[];
  rate: number[];
  failed: number[];
  ready: number[];
  bears: (number | null)[];
}

export type MinuteBands = Record<"at" | "lowest" | "low" | "middle" | "high" | "highest", (number | null)[]>;

export interface Foresight {
  service: string;
  heading: string;
  lines: string[];
  cycle?: number;
  model?: string;
  failed?: number;
  untouched_failed?: number | null;
  worth?: string | null;
  marks: { name: string; at: number }[];
  others: number;
  from: number;
  to: number;
  now: number;
  measured: Minutes;
  untouched: Minutes | null;
  band: MinuteBands;
}

export interface RewardAgent { name: string; letter: string; weight: number; observed: number | null; predicted: number }

export interface Rewards {
  cycle: number;
  scale: string;
  mean_total: number | null;
  scored: number;
  agents: RewardAgent[];
  total: { observed: number | null; predicted: number };
  cycles: number[];
  observed: (number | null)[];
  predicted: number[];
}

export interface Reaction {
  kind: string;
  object: string;
  time_seconds: number;
  lag_seconds: number | null;
  since: string | null;
  pending_class: string | null;
  text: string;
}

export interface Stimulus {
  phase: number;
  name: string;
  status: string;
  intended_agent?: string | null;
  intended_kind?: string | null;
}

export interface Sections {
  head: Head;
  agents: Agent[];
  layers: Layer[];
  cluster: Cluster | null;
  signals: Signal[];
  decision: Story | null;
  recent: DecisionRow[];
  models: Model[];
  promotion: { text: string; models: JudgedModel[] } | null;
  node_names: string[];
  node_cells: string;
  acting: Acting;
  foresight: Foresight | null;
  rewards: Rewards | null;
  reactions: Reaction[];
  stimulus: Stimulus | null;
}

/** One line of the tail: position, recorded wall time in milliseconds, subject, text. */
export type Row = [seq: number, recorded_ms: number, subject: string, text: string];

export interface Update { now_ms: number; skipped: number; sections: Partial<Sections>; rows: Row[] }
