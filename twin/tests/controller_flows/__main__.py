"""Plays flows with the real controllers and writes down what they left, or shows what the twin's own left otherwise.

`python -m twin.tests.controller_flows record job` needs the programs in KUBEBUILDER_ASSETS; `record cronjob,disruption`
plays both groups on one cluster;
`python -m twin.tests.controller_flows compare job [FLOW]` needs nothing.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from twin.tests.controller_flows.running import (
    SERVED,
    built_in,
    differences,
    expected,
    expected_path,
    play_real,
    table,
)
from twin.tests.controller_flows.worlds import Real, reference


def record(groups: list[str], names: list[str]) -> None:
    """Write down what the real controllers leave."""
    for served in (False, True):
        chosen = [group for group in groups if (group in SERVED) is served]
        if chosen:
            with (
                tempfile.TemporaryDirectory() as folder,
                reference(Path(folder), served=served) as world,
            ):
                for group in chosen:
                    _record(world, group, names)


def _record(world: Real, group: str, names: list[str]) -> None:
    chosen = {name: flow for name, flow in table(group).items() if not names or name in names}
    path = expected_path(group)
    for name, one in play_real(world, chosen, group):
        if "error" in one:
            sys.stdout.write(f"{name}: {one['error']}\n")
            sys.stdout.flush()
            continue
        known = expected(group) if path.exists() else {}
        known[name] = one
        known = {name: known[name] for name in table(group) if name in known}
        path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def compare(group: str, names: list[str]) -> int:
    """Show what differs; return how many flows do."""
    wanted = expected(group)
    bad = 0
    for name, flow in table(group).items():
        if (names and name not in names) or name not in wanted:
            continue
        try:
            lines = differences(wanted[name], built_in(flow))
        except Exception as error:  # noqa: BLE001 - said, and the other flows go on
            lines = [f"{type(error).__name__}: {error}"]
        bad += bool(lines)
        title = f"== {name}: {'differs' if lines else 'alike'}"
        sys.stdout.write("\n".join([title, *lines]) + "\n")
    return bad


if __name__ == "__main__":
    verb, group, *names = sys.argv[1:]
    if verb == "record":
        record(group.split(","), names)
    else:
        sys.exit(bool(compare(group, names)))
