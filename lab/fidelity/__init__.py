"""Hold the twin against real Kubernetes programs and documented behaviour, one row per promise."""
