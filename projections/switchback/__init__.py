"""Switchback: acting and not acting in random blocks, and what that says about acting (docs/switchback.md).

The schedule is a function of seed, block and unit, so the executor that keeps to it and the scoreboard that
estimates by it need to tell each other nothing.
"""
