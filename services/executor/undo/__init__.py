"""Taking executions back: why, in which order, and by which writes."""
