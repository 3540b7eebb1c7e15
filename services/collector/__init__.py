"""The collector: looks at the cluster once per cycle and says what it saw.

Reads:     the Kubernetes API (nodes, pods, deployments, jobs, node metrics); the log only to
           continue its own numbering after a restart.
Publishes: snapshot.nodes, snapshot.placements, snapshot.workloads (one atomic batch), observation,
           reaction; config.collector.
Keeps:     nothing but the previous cycle's tables (for deltas and reactions).
Touches:   nothing; it has no write verb.
"""
