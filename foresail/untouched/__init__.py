"""The world without us: the simulated cluster once more, with every write but the executor's.

Reads:     observation, to look at the same cycle and cluster time; the twin's writes (its journal, or those
           that were mirrored in process).
Publishes: untouched.nodes, untouched.placements, untouched.workloads, untouched.observation;
           config.untouched.
Keeps:     a simulated cluster of its own; a restart builds it again from its beginning.
Touches:   nothing but that.
"""
