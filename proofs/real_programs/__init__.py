"""Programs that others wrote for a real cluster, run unchanged on the twin: what each decides, and complains about."""
