"""The table of what Kueue does, read from `cases.yaml`; its head says what the words mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
OBJECTS = ("flavor", "queue", "cohort", "local", "class", "check", "job", "workload", "object")
ACTIONS = ("patch", "status", "delete", "state", "wait", "expect", "refused")
CASES: list[Object] = yaml.safe_load(
    Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8")
)
