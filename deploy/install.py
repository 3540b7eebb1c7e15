"""Install locked packages with pip; on a terminal with a bar and the time left.

    python deploy/install.py requirements.lock

Only wheels with known hashes: no compiler is needed and nothing can be swapped on the way. It needs nothing
but the standard library, for nothing is installed yet. pip's own output is shown when pip fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import threading
import time
from collections import deque
from pathlib import Path

PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")
FLAGS = ("install", "--require-hashes", "--only-binary", ":all:", "--progress-bar", "off")
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)
COLLECTED = ("Collecting ", "Requirement already satisfied: ")
REDRAWN_SECONDS = 0.2
BAR_COLUMNS = 30
KEPT_LINES = 40
MINUTE_SECONDS = 60


class Steps:
    """How far an installation is: each package is fetched, and then unpacked."""

    def __init__(self, packages: int, installed_before: int) -> None:
        """Count steps of so many packages; `installed_before` are there already."""
        self.packages = max(1, packages)
        self.collected = 0
        self._before = installed_before

    def take(self, line: str) -> None:
        """Take one line of pip's output."""
        self.collected += line.lstrip().startswith(COLLECTED)

    def share(self, installed: int) -> float:
        """Return which share of everything is done, 0 to 1, with so many packages in place."""
        unpacked = min(self.packages, max(0, installed - self._before))
        return (min(self.packages, self.collected) + unpacked) / (2 * self.packages)


def bar_text(share: float, seconds: float) -> str:
    """Return the bar: which share is done after so many seconds, and the time left at that pace."""
    full = round(BAR_COLUMNS * share)
    left = "?" if not share else clock(seconds / share - seconds)
    return f"[{'#' * full}{'.' * (BAR_COLUMNS - full)}] {round(100 * share):3}%  left {left}  so far {clock(seconds)}"


def clock(seconds: float) -> str:
    """Return minutes and seconds, such as `1:05`."""
    minutes, rest = divmod(max(0, round(seconds)), MINUTE_SECONDS)
    return f"{minutes}:{rest:02}"


def main(lock: Path) -> int:
    """Install what a lock file names; return pip's exit code, 130 when interrupted."""
    command = [sys.executable, *PIP, *FLAGS, "--requirement", str(lock)]
    try:
        if not sys.stderr.isatty():
            return subprocess.run([*command, "--quiet"], check=False).returncode
        return _install_with_bar(command, lock)
    except KeyboardInterrupt:
        return 130


def _install_with_bar(command: list[str], lock: Path) -> int:
    packages = len(set(PINNED.findall(lock.read_text(encoding="utf-8"))))
    steps = Steps(packages, package_count())
    began = time.monotonic()  # noqa: TID251 - runs before there is anything to take a clock from
    newest: deque[str] = deque(maxlen=KEPT_LINES)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        ended = threading.Event()
        drawing = threading.Thread(target=_draw, args=(steps, began, ended))
        drawing.start()
        try:
            assert pip.stdout is not None
            for line in pip.stdout:
                newest.append(line)
                steps.take(line)
            code = pip.wait()
        finally:
            ended.set()
            drawing.join()
            sys.stderr.write("\r\033[K")
    if code:
        sys.stderr.writelines(newest)
    return code


def _draw(steps: Steps, began: float, ended: threading.Event) -> None:
    while not ended.wait(REDRAWN_SECONDS):
        so_far = time.monotonic() - began  # noqa: TID251
        text = bar_text(steps.share(package_count()), so_far)
        sys.stderr.write(f"\r{text}\033[K")
        sys.stderr.flush()


def package_count() -> int:
    """Return how many packages this interpreter has."""
    return sum(1 for _ in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
