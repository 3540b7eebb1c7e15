"""AIOpsLab's problems on the twin: its catalogue, what our log answers, its scores, and the predecessor's rewards."""
