"""Demand foretold for series of rates: reading tables, the backtest, its scores, and training.

`foresail forecast backtest` and `foresail forecast rates` are the commands.
"""
