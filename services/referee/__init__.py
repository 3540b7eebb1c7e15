"""Referee: one decision per cycle from all proposals.

For every loser it names the rule and the numbers that beat it.

Reads:     observation (whom to expect), proposal.*, its own decision.
Publishes: decision, exactly one per cycle.
Keeps:     open cycles with the proposals filed for them, and the newest decision (for
           repeat_count).
Touches:   nothing but the bus.
"""
