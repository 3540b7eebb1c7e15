"""Cluster Autoscaler: node groups that grow for pods that found no node and shrink when little is asked.

By its own rules (kubernetes/autoscaler cluster-autoscaler, after 1.35); docs/twin/machines.md lists them.
"""
