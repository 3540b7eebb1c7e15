"""Inference: failure risk and demand of every node, from the newest observation.

Reads:     observation, its own prediction.risk and prediction.demand.
Publishes: prediction.risk and prediction.demand, exactly one of each per cycle: a result, or
           skipped with the reason.
Keeps:     the newest full observation, and the cycles that still wait for a prediction.
Touches:   nothing but the bus.
"""
