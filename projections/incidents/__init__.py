"""Incidents: what went wrong in a cluster, why, and who did what about it, each step with its lag."""
