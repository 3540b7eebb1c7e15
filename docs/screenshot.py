"""Take the picture of a running dashboard: `python docs/screenshot.py URL OUT.png [dark|light]`.

Needs the dev extra (Playwright) and a Chromium of the machine's own; nothing is downloaded.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1440, 1180
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SETTLE_MS = 1_500


def take(url: str, out: Path, scheme: str = "dark") -> None:
    """Open the page, wait for a decision, and write one PNG of the whole page."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("chromium: not on PATH; install it (apt-get install chromium)")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=chromium,
            headless=True,
            args=list(FLAGS),
            viewport={"width": WIDTH, "height": HEIGHT},
            color_scheme="light" if scheme == "light" else "dark",
        )
        page = context.new_page()
        page.goto(url)
        page.get_by_test_id("action").wait_for()
        page.wait_for_timeout(SETTLE_MS)
        page.screenshot(path=out, full_page=True)
        context.close()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    take(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:4])
