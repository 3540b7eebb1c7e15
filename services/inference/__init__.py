"""Inference: failure risk and demand of every node, by the baseline formula or by trained models.

Reads:     observation, its own prediction.*; for trained risk models also snapshot.placements and
           snapshot.workloads, which tell what became of attempts; outcome.models, which says whether a
           shadow model drives.
Publishes: prediction.risk and prediction.demand, exactly one of each per cycle: a result, or
           skipped with the reason; prediction.shadow.<slot> every few cycles for each shadow model.
Keeps:     the newest full observation, the cycles that still wait for a prediction, and for trained
           models the history of attempts and windows of use.
Touches:   the folders of its models, at the start; then nothing but the bus.
"""
