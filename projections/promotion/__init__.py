"""The promotion of risk models: which one drives, by skill shown live (docs/forecast/promotion.md).

A pure fold of scored predictions and their cluster times, shared by the scoreboard, which publishes every judgement,
and whoever shows it.
"""
