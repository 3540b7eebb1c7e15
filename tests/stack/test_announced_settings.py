"""What the stack's settings say in the log: the same on every machine, and nothing of this one."""

from __future__ import annotations

import json

from foresail.settings import resolve
from foresail.stack.run_events import announced_settings

FILES = {"workload": "own.csv", "scenario": "bad-day.yaml", "machines": "types.yaml"}


def test_files_are_announced_without_their_folders() -> None:
    """The same files give the same announcement, hash and recording wherever they lie."""
    said = [
        announced_settings(
            resolve(None, {}, {f"run.{name}": folder + file for name, file in FILES.items()})
        )
        for folder in ("/home/canary1/", "", "../")
    ]

    assert said[0] == said[1] == said[2]
    assert said[0]["run"]["scenario"] == "bad-day.yaml"
    assert "canary1" not in json.dumps(said)
    plain = announced_settings(resolve(None, {}, {}))["run"]
    assert (plain["workload"], plain["scenario"], plain["machines"]) == ("openb", None, None)
