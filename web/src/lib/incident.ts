// An incident as `foresail timeline` tells it (projections/incidents/incident.py).

export interface IncidentStep {
  lane: string;
  kind: string;
  time_seconds: number;
  until_seconds: number;
  count: number;
  since_begin_seconds: number;
  lag_median_seconds: number | null;
  lag_max_seconds: number | null;
  lag_since: string;
  text: string;
  damage: boolean;
  seq: number;
  cycle: number;
}

export interface Incident {
  number: number;
  kind: string;
  begin_seconds: number;
  damage_seconds: number;
  end_seconds: number | null;
  /** When its damage and its end were recorded. */
  damage_ms: number | null;
  end_ms: number | null;
  last_seconds: number;
  lead_seconds: number | null;
  nodes: string[];
  workloads: string[];
  steps: IncidentStep[];
  waits: { pending_class: string; pods: number; median_seconds: number; max_seconds: number; still_waiting: number }[];
  spans: { kind: string; subject: string; pending_class: string; begin_seconds: number; end_seconds: number | null }[];
  alarms: { model_id: string; shadow: boolean; value: number; threshold: number; lead_seconds: number | null; time_seconds: number; seq: number }[];
  curves: { name: string; unit: string; times_seconds: number[]; values: number[] }[];
  acting: { verdict: string; text: string } | null;
}

export const LANES = ["demand", "node", "prediction", "autoscaler", "controller", "scheduler", "kubelet", "foresail", "untouched"];
export const LANE_WORDS: Record<string, string> = { foresail: "Foresail", untouched: "without us" };

/** Where it happened, what names it best first. */
export const placesOf = (one: Incident) => (one.kind === "node_failure" ? [...one.nodes, ...one.workloads] : [...one.workloads, ...one.nodes]);
