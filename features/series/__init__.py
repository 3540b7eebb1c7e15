"""Demand of a series of usage windows: what is known of it, simple rules, and honest limits.

A series is usage in consecutive windows of five minutes. An *origin* is the moment before the first
unknown window; its *peak* is the largest window within the horizon; a *limit* is what a method would
reserve for it. The limit is *violated* when the peak lies above it.

One code for training and for live use: numpy and the standard library only, no clock, no files.

- `windows.py`: the bounded state of n series, one push per window
- `features.py`: that state as a feature matrix
- `rules.py`: N-sigma, RC-like, VPA and other rules as limits
- `quantiles.py`: quantiles of rows with holes, weighted quantiles, quantiles that do not cross
- `adapt.py`: online calibration that keeps a violation target
"""
