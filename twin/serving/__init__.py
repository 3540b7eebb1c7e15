"""Requests that are served: traffic, queues in pods, and what people feel of it (docs/twin/serving.md)."""
