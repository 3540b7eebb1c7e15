"""kube-scheduler's parts: one file a plugin, by its upstream name; `behaviour/scheduler.py` runs them.

What is modelled, each default and its source: docs/twin/scheduler.md.
"""
