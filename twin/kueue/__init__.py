"""Kueue: queues that hold Jobs back until their quota has room, over seven kinds of custom resources.

Every decision follows from what the objects show, so nothing is remembered but what is to be looked at next; without
`TwinConfig.kueue.served` none of it is there, and without an object of Kueue it does nothing.
Source: documentation and behaviour of kubernetes-sigs/kueue (August 2026, v0.20 development).
"""
