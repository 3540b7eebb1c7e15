"""The exerciser: puts known load on the cluster, phase by phase, so that every agent has its turn.

Reads:     observation (as its clock), decision, outcome.execution, outcome.verification, and its own stimulus events.
Publishes: stimulus; config.exerciser, checkpoint.exerciser.
Keeps:     which phase is on, since which cycle, and what became of the action that it intends.
Touches:   Deployments and Jobs in its own namespace, foresail-exercise; it removes them when it stops, and
           what an earlier run left behind when it starts. It never touches a node.
"""
