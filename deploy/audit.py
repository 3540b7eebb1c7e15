"""Ask an advisory service about every locked package: `python -m deploy.audit`, `make audit`.

Exit code 0: all were asked about and none is known to be vulnerable. 1: some are. 3: the service
could not be asked, or not about all of them, or did not know of an old release that is vulnerable for
certain; none of these is counted as clean. `pip-audit` is run by uv in an environment of its own. By
itself it ends with 0 and "no known vulnerabilities" when the service knows none of the packages.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from packaging.markers import Marker

from deploy.locked import LOCK, read_lock

CLEAN, VULNERABLE, NOT_ASKED = 0, 1, 3
SECONDS = 600.0
LAST_CHARACTERS = 200
CONTROL = "django"
CONTROL_ENTRY = f"{CONTROL}==1.8 --hash=sha256:{'0' * 64}\n"
"""Never installed: a release with advisories of its own, which a service worth asking knows."""


def installed_packages(text: str) -> set[str]:
    """Return the names of a lock's packages that are installed on this machine."""
    return {one.name for one in read_lock(text) if not one.marker or Marker(one.marker).evaluate()}


def verdict(names: set[str], printed: str, complaint: str) -> tuple[int, str]:
    """Judge what pip-audit printed; return the exit code and what to tell.

    Args:
        names: packages that must have been asked about.
        printed: its standard output, JSON when it came that far.
        complaint: its standard error.
    """
    try:
        found: Sequence[dict[str, Any]] = json.loads(printed)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (complaint.strip().splitlines() or ["it gave no reason"])[-1]
        return NOT_ASKED, f"no advisory service could be asked: {last[-LAST_CHARACTERS:]}"
    control = [one for one in found if one["name"] == CONTROL]
    found = [one for one in found if one["name"] != CONTROL]
    vulnerable = [
        f"{one['name']} {one['version']}: {', '.join(bug['id'] for bug in one['vulns'])}"
        for one in found
        if one.get("vulns")
    ]
    asked = {one["name"] for one in found if "skip_reason" not in one}
    missing = sorted(names - asked)
    if vulnerable:
        return VULNERABLE, "known to be vulnerable: " + "; ".join(vulnerable)
    if missing or not names:
        return NOT_ASKED, f"not asked about {len(missing)} packages: {', '.join(missing[:5])}"
    if not any(one.get("vulns") for one in control):
        return (
            NOT_ASKED,
            f"the service knows no advisory about {CONTROL_ENTRY.split(maxsplit=1)[0]}",
        )
    return CLEAN, f"{len(names)} packages, none known to be vulnerable"


def main() -> int:
    """Ask, and print one line."""
    uv = str(Path(sys.executable).with_name("uv"))
    text = LOCK.read_text(encoding="utf-8")
    command = [uv, "tool", "run", "--quiet", "pip-audit", "--require-hashes", "--disable-pip"]
    command += ["--format", "json", "--progress-spinner", "off", "--requirement"]
    with TemporaryDirectory() as folder:
        asked = Path(folder) / "requirements.txt"
        asked.write_text(text + CONTROL_ENTRY, encoding="utf-8")
        printed, complaint = _ran([*command, str(asked)])
    code, line = verdict(installed_packages(text), printed, complaint)
    (sys.stdout if code == CLEAN else sys.stderr).write(line + "\n")
    return code


def _ran(command: Sequence[str]) -> tuple[str, str]:
    """Return what a command printed, and what it complained about."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    return done.stdout, done.stderr


if __name__ == "__main__":
    sys.exit(main())
