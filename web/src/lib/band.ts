// A band of demand (services/dashboard/workloads.py): what was expected of a workload at one moment.

export interface Band {
  /** The moment that it is about, cluster time in seconds. */
  at: number;
  horizon_seconds: number;
  lowest?: number | null;
  low?: number | null;
  middle?: number | null;
  high?: number | null;
  highest?: number | null;
  rule: string;
  basis: string;
}
