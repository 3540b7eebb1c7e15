"""`python -m twin.tests.own_controllers`: play Kueue's cases with its own controller; say what differs.

`--chosen --minutes 15` plays the ten of the test suite over and over; `--ground real` on a real API server.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from proofs.real_programs import kueue
from proofs.real_programs.grounds import GROUNDS
from proofs.real_programs.log_lines import complaints, tally
from proofs.real_programs.processes import free_port
from proofs.real_programs.requests import Api
from twin.tests.kueue.ports import Refused
from twin.tests.kueue.table import CASES, Object
from twin.tests.own_controllers.kueue_cases import (
    CHOSEN,
    RealPlay,
    RealPort,
    clear,
    make_nodes,
    prepare_nodes,
)


def main(arguments: list[str]) -> int:
    """Play the cases whose names hold a word, all without one; 1 when one differs."""
    parser = argparse.ArgumentParser(
        prog="python -m twin.tests.own_controllers", description=__doc__
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="cases whose names hold it")
    parser.add_argument("--chosen", action="store_true", help="the test suite's ten cases")
    parser.add_argument("--minutes", type=float, default=0.0, metavar="N", help="again and again")
    parser.add_argument("--ground", choices=sorted(GROUNDS), default="twin", help="what it runs on")
    options = parser.parse_args(arguments)
    words = options.words
    chosen = [case for case in CASES if not words or any(word in case["case"] for word in words)]
    if options.chosen:
        chosen = [case for case in chosen if case["case"] in CHOSEN]
    folder = Path(tempfile.mkdtemp(prefix="kueue-cases-"))
    _say(f"logs: {folder}")
    ports = kueue.Ports(free_port(), free_port(), free_port())
    with GROUNDS[options.ground](folder) as api:
        kueue.install(api, ports, by_name=options.ground == "real")
        make_nodes(api)
        return _play(api, folder, ports, chosen, options.minutes)


def _play(
    api: Api, folder: Path, ports: kueue.Ports, cases: Sequence[Object], minutes: float
) -> int:
    different, found, rounds, began = 0, 0, 0, time.monotonic()
    ordered = sorted(cases, key=lambda case: _settings(case) != "{}")
    for number, (settings, each) in enumerate(groupby(ordered, _settings)):
        group = list(each)
        with kueue.running_kueue(api, folder / str(number), ports, json.loads(settings)) as log:
            rounds = 0
            while not rounds or time.monotonic() - began < 60 * minutes:
                rounds += 1
                different += sum(not _agrees(api, case) for case in group)
        lines = complaints(log, kueue.ALLOWED)
        found += len(lines)
        for line in lines:
            _say(f"complaint: {line[:1000]}")
        for pattern, count in tally([log], kueue.ALLOWED).items():
            _say(f"allowed: {count} of {pattern}")
    minutes = (time.monotonic() - began) / 60
    _say(
        f"{len(cases)} cases, the last ones {rounds} times, in {minutes:.1f} min: {different} differ, "
        f"{found} complaints"
    )
    return 1 if different or found else 0


def _agrees(api: Api, case: Object) -> bool:
    start, agrees = time.monotonic(), True
    try:
        prepare_nodes(api, case)
        RealPlay(case, RealPort(api))
        said = "agrees"
    except (AssertionError, KeyError, TypeError, OSError, Refused) as error:
        said, agrees = f"DIFFERS {type(error).__name__}: {error}", False
    _say(f"{time.monotonic() - start:6.1f} s  {case['case']}: {said}")
    clear(api)
    return agrees


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _settings(case: Object) -> str:
    return json.dumps(case.get("configuration", {}), sort_keys=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
