"""`python -m tests.twin.own_controllers`: play the table of Kueue's cases with its own controller; say what differs."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from itertools import groupby
from pathlib import Path

from proofs.real_programs import kueue
from proofs.real_programs.log_lines import complaints
from proofs.real_programs.processes import free_port, running_twin
from tests.twin.kueue.ports import Refused
from tests.twin.kueue.table import CASES, Object
from tests.twin.own_controllers.kueue_cases import (
    RealPlay,
    RealPort,
    clear,
    make_nodes,
    prepare_nodes,
)


def main(words: list[str]) -> int:
    """Play the cases whose names hold a word, all without one; 1 when one differs."""
    chosen = [case for case in CASES if not words or any(word in case["case"] for word in words)]
    folder = Path(tempfile.mkdtemp(prefix="kueue-cases-"))
    _say(f"logs: {folder}")
    ports = kueue.Ports(free_port(), free_port(), free_port())
    different, began = 0, time.monotonic()
    with running_twin(folder, "--nodes", "1") as api:
        kueue.install(api, ports)
        make_nodes(api)
        ordered = sorted(chosen, key=lambda case: _settings(case) != "{}")
        for number, (settings, group) in enumerate(groupby(ordered, _settings)):
            place = folder / str(number)
            with kueue.running_kueue(api, place, ports, json.loads(settings)) as log:
                for case in group:
                    start = time.monotonic()
                    try:
                        prepare_nodes(api, case)
                        RealPlay(case, RealPort(api))
                        said = "agrees"
                    except (AssertionError, KeyError, TypeError, OSError, Refused) as error:
                        said, different = f"DIFFERS {type(error).__name__}: {error}", different + 1
                    _say(f"{time.monotonic() - start:6.1f} s  {case['case']}: {said}")
                    clear(api)
            for line in complaints(log, kueue.ALLOWED):
                _say(f"complaint: {line[:1000]}")
    _say(f"{len(chosen)} cases, {different} differ, {time.monotonic() - began:.0f} s")
    return 1 if different else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _settings(case: Object) -> str:
    return json.dumps(case.get("configuration", {}), sort_keys=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
