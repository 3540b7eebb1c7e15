"""Traces and event files of the predecessor system, read and carried over into a recording.

The forms are those that its public repository, capston-design-2026-1/Borg-Agent-Orchestrator-Kube, writes and checks
(in `orchestrator_stack/orchestrator`: `layer1/trace_ingestor.py`, `runtime_state.py` and `visualization.py`).
"""
