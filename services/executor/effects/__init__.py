"""What the executor does: one file per effect, each given the state and the same context."""
