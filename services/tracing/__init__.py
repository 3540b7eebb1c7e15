"""Tracing: one OpenTelemetry trace per cycle, built from the log.

Reads: every event. Publishes: nothing. Keeps: the times of the newest events. Touches: an OTLP/HTTP
receiver. No process of the pipeline knows of it.
"""
