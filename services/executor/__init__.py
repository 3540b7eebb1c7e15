"""The executor: makes the referee's decisions real, within guard rails, and checks that they held.

Reads: decision, observation, control, its own outcomes. Publishes: outcome.execution (started,
finished or refused), outcome.verification. Keeps: decisions that wait, executions of the last
hours, the operator's switches (checkpointed). Touches: the Kubernetes API, with write verbs; nobody
else does, but the exerciser in its own namespace.
"""
