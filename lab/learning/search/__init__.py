"""Policies found by search over their weights: whole streams are played, so that what is bettered is what is judged."""
