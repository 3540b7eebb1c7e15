"""Risk models: will this attempt fail within the horizon?

Training, baselines, metrics and report. Every metric is taken on every row of a split at the true
base rate; sampling and weights exist in training only. Definitions follow the published reference
of the Borg 2011 data: rows, splits, ties and resamples by whole jobs.
"""
