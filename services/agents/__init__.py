"""Agents: each judges one observation from its own point of view and proposes one action or none.

A proposal always says why: by numbers against thresholds, or by the reason for a noop.

One process per agent (`python -m services.agents safety`), all the same program with another
policy. Each agent is a folder here with its registration (docs/add-an-agent.md); a folder is found
by being there.

Reads:     observation, the predictions its policy needs (risk, demand, capacity or none), its own
           proposal.<agent>.
Publishes: proposal.<agent>, exactly one per cycle: proposed, noop with the reason, or skipped.
Keeps:     the newest full observation, the newest prediction, and the cycles that still wait for a
           proposal.
Touches:   nothing but the bus.
"""
