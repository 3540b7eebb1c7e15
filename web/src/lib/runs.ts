// Runs as the server tells of them (services/dashboard/run_book.py).

import { number, words } from "./format.js";

export interface RunStage { stage: string; status: string; progress_ratio: number; detail: string; samples?: number | null; begun_ms: number; newest_ms: number }
export interface RunFile { label: string; file_name: string; sha256: string; kind?: string }

export interface Run {
  run_id: string;
  status: string | null;
  manifest: { arguments: string[]; code_version: string; git_revision: string; python: string; packages: Record<string, string>; seeds: Record<string, number> } | null;
  stages: RunStage[];
  artifacts: RunFile[];
  artifacts_total: number;
  trials: number;
  errors: { process: string; text: string }[];
  warnings: string[];
  source: { kind: string; name: string; detail: string[] } | null;
  summary: Record<string, unknown>;
  newest_ms: number;
}

export interface Effect {
  arm: string; reference: string; metric: string; unit: string; better: "higher" | "lower"; pairs: number; arm_mean: number; reference_mean: number;
  difference: number; low: number | null; high: number | null; confidence_ratio: number; verdict: string;
}
export interface Gate { judged: string; kind: string; experiment: string; passes: boolean; reasons: string[] }
export interface Experiment { name: string; trials: number; arms: { arm: string; trials: number; mean: number | null }[]; effects: Effect[]; gate: Gate | null }

export interface Trial { trial: number; state: string; value: number | null; best: number | null; is_better: boolean }
export interface Search {
  study: string; status: string; text: string; engine: string; why: string; circular: string; objectives: { figure: string; direction: string }[];
  completed: number; pruned: number; failed: number; since_best: number; plateau: boolean; earlier: number; trials: Trial[];
  best: { trial: number; values: (number | null)[]; parameters: Record<string, unknown> } | null;
  new_bests: { trial: number; value: number | null; parameters: Record<string, unknown> }[];
}

export interface Session {
  session: string; status: string; kind: string | null; engine: string | null; host: string | null; total: number; states: Record<string, number>;
  best: { job_id: string; value: number; config: Record<string, unknown> } | null;
  failures: { job_id: string; state: string; why: string; attempt: number; log_tail: string[] }[]; failures_total: number;
  trainings: { job_id: string; train_iters: number; reward_mean: number; checkpoint: string }[];
  ray: { status: string; nodes: number; cpus: number; train_iters: number; reward_mean: number | null; checkpoint: string; why: string } | null;
  cancel: string | null;
}

export interface Curve { policy: string; seed: number; better: "higher" | "lower"; steps: number[]; values: number[] }
export interface LivePolicy {
  agent: string; policy: string; acts: boolean; cycle: number; line: string; weights_sha256: string; choices: number; scored: number; agreed: number;
  policy_total: number | null; rules_total: number | null;
}
export interface Policies { curves: Curve[]; gates: Gate[]; live: LivePolicy[] }

export interface Runs {
  run: Run;
  experiments: Experiment[];
  switchback: { text: string; cycle: number; effect_money_per_hour: number | null; low_money_per_hour: number | null; high_money_per_hour: number | null; currency: string; pairs: number; confidence_ratio: number } | null;
  searches: Search[];
  sessions: Session[];
  policies: Policies;
  under_way: { name: string; done_ratio: number; text: string }[];
}

const GOOD = new Set(["complete", "succeeded", "passes", "helps"]);
const BAD = new Set(["failed", "timed-out", "harms", "invalid"]);
const WARN = new Set(["interrupted", "cancelled", "unsubmitted", "skipped"]);

/** How a state is to be taken. */
export function tone(state: string): "good" | "bad" | "warn" | "" {
  return GOOD.has(state) ? "good" : BAD.has(state) ? "bad" : WARN.has(state) ? "warn" : "";
}

/** A value of any kind as people read it. */
export function valueText(value: unknown): string {
  return typeof value === "number" ? number(value) : typeof value === "string" ? words(value) : JSON.stringify(value);
}

/** One line of the list: something that runs, ran, or was judged. */
export interface Listed { key: string; kind: string; name: string; state: string; text: string; share: number | null }

const ENDED = ["succeeded", "failed", "timed-out", "invalid", "cancelled", "unsubmitted"];

/** Everything that the log tells of, what goes on first. */
export function listed(runs: Runs, isLive: boolean): Listed[] {
  const { run, policies } = runs;
  const done = run.stages.filter((one) => one.status === "complete" || one.status === "skipped").length;
  const rows: Listed[] = [];
  if (run.run_id) rows.push({
    key: "run", kind: "run", name: run.run_id, state: runState(run, isLive),
    text: `${number(done)} of ${number(run.stages.length)} stages done`, share: null,
  });
  for (const one of runs.searches) {
    const all = one.completed + one.pruned + one.failed;
    rows.push({ key: `search ${one.study}`, kind: "search", name: one.study, state: one.status, text: one.text, share: one.status === "running" ? all / Math.max(1, total(one.text)) : null });
  }
  for (const one of runs.sessions) {
    const ended = ENDED.reduce((sum, state) => sum + (one.states[state] ?? 0), 0);
    rows.push({ key: `session ${one.session}`, kind: "session", name: one.session, state: one.status, text: `${number(ended)} of ${number(one.total)} jobs ended`, share: one.status === "running" && one.total ? ended / one.total : null });
  }
  for (const one of runs.experiments) rows.push({
    key: `experiment ${one.name}`, kind: "experiment", name: one.name, state: one.gate ? (one.gate.passes ? "passes" : "does not pass") : one.effects.length ? "judged" : "trials only", text: `${number(one.trials)} trials`, share: null,
  });
  if (runs.switchback) rows.push({ key: "switchback", kind: "experiment", name: "acting by turns", state: "judged", text: `${number(runs.switchback.pairs)} pairs of blocks`, share: null });
  const names = new Set([...policies.curves.map((one) => one.policy), ...policies.gates.map((one) => one.judged), ...policies.live.map((one) => one.policy)]);
  for (const name of names) {
    const gate = policies.gates.find((one) => one.judged === name);
    const live = policies.live.find((one) => one.policy === name);
    rows.push({
      key: `policy ${name}`, kind: "policy", name, state: gate ? (gate.passes ? "passes" : "does not pass") : live ? (live.acts ? "acts" : "in shadow") : "trained",
      text: live ? `${number(live.choices)} choices` : `${number(policies.curves.filter((one) => one.policy === name).length)} seeds`, share: null,
    });
  }
  return rows;
}

/** How a run stands; one of a file that has not ended was cut off, or goes on. */
export function runState(run: Run, isLive: boolean): string {
  return run.status ?? (isLive ? "running" : "no end");
}

const total = (text: string) => Number(/of ([\d,]+)/.exec(text)?.[1]?.replaceAll(",", "") ?? 0);
