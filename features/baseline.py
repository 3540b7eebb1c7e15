"""Numbers of the baseline formula, which the live predictor and lab's comparisons share."""

MODEL_ID = "seed-formula/1"
"""The formula over requests; the id is a wire name of recorded predictions."""
MEASURED_ID = "seed-formula-measured/1"
"""The formula over measured use where there is any."""

CPU_WEIGHT = 0.55
MEMORY_WEIGHT = 0.35
UNHEALTHY_RISK = 0.95
RESTARTED_RISK = 0.7
