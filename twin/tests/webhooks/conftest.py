"""The embedded cluster as a process of its own."""

from twin.tests.contract.conftest import served_cluster

__all__ = ["served_cluster"]
