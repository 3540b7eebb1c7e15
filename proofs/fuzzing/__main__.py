"""`python -m proofs.fuzzing`: let atheris search for an input that an entry cannot take.

    python -m proofs.fuzzing                       list the entries
    python -m proofs.fuzzing twin-yaml --seconds 300

atheris is not part of the development packages, since it has no wheel for every platform: install it
with `pip install atheris`. Exit code 0: nothing found; 1: found, the input is in the file named; 2: bad
usage.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from proofs.fuzzing import entries, inputs

CHILD = "--child"
"""Marks the process that fuzzes; libFuzzer ends its process itself."""
INSTRUMENTED = ["schemas", "projections", "bus", "features", "services", "twin", "lab", "foresail"]
MEGABYTES = 2_000
"""An input that makes the process larger than this is a finding."""


def main(arguments: list[str]) -> int:
    """Fuzz one entry in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m proofs.fuzzing", description=__doc__)
    parser.add_argument(
        "name", nargs="?", metavar="ENTRY", help="which parser to search; without it, list them"
    )
    parser.add_argument(
        "--seconds",
        type=int,
        default=60,
        metavar="S",
        help="how long to search, in seconds (default: 60)",
    )
    parser.add_argument(
        "--findings",
        type=Path,
        metavar="FOLDER",
        help="where inputs that fail are written (default: a new folder)",
    )
    options = parser.parse_args(arguments)
    known = entries()
    if options.name is None:
        sys.stdout.write("".join(f"{name}\n" for name in known))
        return 0
    if options.name not in known:
        sys.stderr.write(f"error: NAME = {options.name!r}: use one of {', '.join(known)}\n")
        return 2
    if find_spec("atheris") is None:
        sys.stderr.write("error: atheris is not installed: `pip install atheris` (Linux, x86-64)\n")
        return 2
    folder = options.findings or Path(tempfile.mkdtemp(prefix="findings-"))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="corpus-") as corpus:
        entry = known[options.name]
        for number, content in enumerate(inputs(entry)):
            (Path(corpus) / f"seed-{number}").write_bytes(content)
        flags = [
            f"-max_total_time={options.seconds}",
            f"-max_len={entry.most_bytes}",
            f"-timeout={max(1, round(entry.seconds))}",
            f"-rss_limit_mb={MEGABYTES}",
            f"-artifact_prefix={folder}/",
        ]
        command = [sys.executable, "-m", "proofs.fuzzing", CHILD, options.name, *flags, corpus]
        code = subprocess.run(command, check=False).returncode
    print(f"{options.name}: {'nothing found' if code == 0 else f'found, see {folder}'}")
    return 0 if code == 0 else 1


def fuzz(name: str, flags: list[str]) -> None:
    """Search without end, or as long as the flags say; ends the process."""
    import atheris  # noqa: PLC0415 - not installed everywhere

    with atheris.instrument_imports(include=INSTRUMENTED):
        entry = entries()[name]
    atheris.Setup([sys.argv[0], *flags], entry.run)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        fuzz(sys.argv[2], sys.argv[3:])
    sys.exit(main(sys.argv[1:]))
