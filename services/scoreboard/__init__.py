"""Scoreboard: what each decision was worth, and how good the predictions were.

Both are read from the observations that followed, never from what was hoped for.

Reads:     observation, untouched.observation, prediction.*, proposal.* (which targets are left untouched),
           decision, outcome.* (executions and its own output), control.
Publishes: outcome.reward, one per decision; outcome.forecast, one per predicted cycle and model
           (of a model that looks far ahead, one per every n-th cycle); outcome.models, one per block of time.
Keeps:     the newest observation, decisions that wait for the observation after them, and
           predictions whose horizon has not passed.
Touches:   nothing but the bus.
"""
