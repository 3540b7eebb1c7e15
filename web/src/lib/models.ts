// Models as the server tells of them (services/dashboard/model_book.py).

export interface Running { targets: number; positives: number; hits: number; misses: number; false_alarms: number; lead_seconds: number | null; brier: number | null }
export interface BandScore { targets: number; inside: number; loss_ratio?: number | null; last_value_loss_ratio?: number | null }

export interface Card {
  model_id: string;
  use: string;
  results: number;
  skipped: number;
  card: {
    status: string; reason: string | null; horizon_seconds: number; calibrated: boolean; alarm_ratio: number | null; foresees: string; features_hash: string;
    sources: { name: string; status: string; age_seconds: number | null; features: number }[]; cycle: number;
  } | null;
  score_name: string;
  scores: { at: number[]; values: number[] };
  lately: number | null;
  so_far: number | null;
  running: Running | null;
  bands: { horizon_seconds: number; newest: BandScore; so_far: BandScore | null; lately_inside_ratio: number | null }[];
}

export interface JudgedModels {
  driving: string;
  window_seconds: number;
  confidence_ratio: number;
  models: {
    model_id: string; state: string; why: string; text: string; targets: number; positives: number;
    skill: number | null; skill_low: number | null; skill_high: number | null; lift: number | null; lift_low: number | null; lift_high: number | null;
  }[];
  history: { at: number; cycle: number; driving: string; skill: Record<string, number | null> }[];
}

export interface BesideActive {
  slot: number; model_id: string; active_id: string; cycle: number; nodes: number; alarms: number; active_alarms: number; both: number;
  rows: { node: string; active: number; shadow: number }[];
}

export interface Models {
  models: Card[];
  judged: JudgedModels | null;
  foresight: { window_seconds: number; models: { model_id: string; text: string }[] } | null;
  beside: BesideActive[];
}
