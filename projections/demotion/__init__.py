"""The demotion of models of demand: which may drive, by what acting on them was worth (docs/forecast/scores.md).

A pure fold of scored bands and scored actions, shared by the scoreboard, which publishes every judgement, and whoever
shows it.
"""
