"""The node agent: holds limits on the machine that it runs on. One process a node, without a log.

Reads: annotations of its own Node (`schemas.node_limits`), by a watch.
Publishes: a condition of that Node and events about it; nothing on NATS.
Keeps: what it has changed, and what was there before, in a file.
Touches: `scaling_max_freq` of each cpufreq policy, and `cpu.max` of one cgroup above the kubelet's.
"""
