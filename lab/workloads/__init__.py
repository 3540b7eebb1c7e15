"""Turn real cluster traces into what the twin plays.

`prepare` writes the busiest hour of a trace onward as a workload file; `lab.workloads.fit`
computes the small models that the repository ships; `lab.workloads.check` compares both.
Trace files are only read, from the folder that is given, and never copied.
"""

from __future__ import annotations

from lab.workloads.prepare import PreparedWorkload, prepare

__all__ = ["PreparedWorkload", "prepare"]
