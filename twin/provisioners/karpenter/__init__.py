"""Karpenter: machines chosen for the pods that wait, and taken away when fewer or cheaper ones would do.

By its own rules (kubernetes-sigs/karpenter v1.13.0); docs/twin/machines.md lists them.
"""
