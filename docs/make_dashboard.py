"""Photograph the dashboard of a running stack, docs/dashboard.png: `python -m docs.make_dashboard`.

It plays what `make run` plays on free ports, with a state folder of its own, waits for a later cycle in which an agent
acts, and ends it. Times on the picture are those of the run, so no two pictures
are the same to the pixel; what the seed decides is. Needs a Chromium on the PATH.
"""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).with_name("dashboard.png")
CONFIG = Path(__file__).parents[1] / "examples" / "first-run.toml"
CYCLE = 62
"""The first cycle that may be on the picture: the site has opened by then."""
WIDTH, HEIGHT = 1440, 1000
LOOK_MILLISECONDS, MOST_LOOKS = 200.0, 2_000
END_SECONDS = 60.0


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def photograph(url: str, chromium: str, out: Path) -> None:
    """Write a picture of the page once it shows a decision of the cycle that is wanted.

    Raises:
        TimeoutError: it never does.
    """
    from playwright.sync_api import Error, sync_playwright  # noqa: PLC0415 - only in the dev extra

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=chromium,
            headless=True,
            args=["--no-sandbox", "--disable-gpu", "--no-first-run"],
            viewport={"width": WIDTH, "height": HEIGHT},
            color_scheme="dark",
        )
        tab = context.new_page()
        for _ in range(MOST_LOOKS):
            try:
                if tab.url != f"{url}/":
                    tab.goto(f"{url}/")
                text = tab.locator("body").inner_text()
            except Error:  # the dashboard does not listen yet
                text = ""
            shown = re.search(r"Decision\s+cycle (\d+)", text)
            if shown is not None and int(shown[1]) >= CYCLE and "executed" in text:
                tab.screenshot(path=out, full_page=True)
                context.close()
                return
            tab.wait_for_timeout(LOOK_MILLISECONDS)
        context.close()
    raise TimeoutError(f"no decision of cycle {CYCLE} after {MOST_LOOKS} looks")


def main() -> int:
    """Start the stack, write the picture, and end the stack."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.stderr.write("no chromium on PATH: dashboard.png stays as it is\n")
        return 1
    port = free_port()
    with tempfile.TemporaryDirectory() as state:
        command = [sys.executable, "-m", "foresail", "up", "--config", str(CONFIG)]
        command += [
            "--dashboard-port",
            str(port),
            "--nats-port",
            str(free_port()),
            "--state",
            state,
        ]
        stack = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            photograph(f"http://127.0.0.1:{port}", chromium, PICTURE)
        finally:
            stack.send_signal(signal.SIGINT)
            stack.wait(END_SECONDS)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
