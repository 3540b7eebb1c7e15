"""Photograph the dashboard's pages, docs/dashboard.png and docs/pages: `python -m docs.make_dashboard [PAGE ...]`.

It records what `make run` plays, in virtual time, opens the recording and shows each page as it stood at one cycle;
what the seed decides is the same on every picture. Runs are those of a short experiment. Needs a Chromium on the PATH.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from services.dashboard.app import PAGES

DOCS = Path(__file__).parent
PICTURE = DOCS / "dashboard.png"
FOLDER = DOCS / "pages"
CONFIG = DOCS.parent / "examples" / "first-run.toml"
CYCLE = 84
"""The moment of the pictures: the rise has come, and there is something to do."""
SEARCHES = {
    "decisions": "acts=1&cycle=84",
    "what-if": "set=agents.value.headroom=0.4",
    "workloads": "workload=default/Deployment/web-08",
}
"""What is selected on a page."""
LOOKS = {"dark": (1440, 900, "dark"), "light": (1440, 900, "light"), "narrow": (390, 844, "light")}
EXPERIMENT = DOCS.parent / "experiments" / "short.toml"
ARMS = ("shop/baseline-rules", "shop/none")
"""What is compared of it."""
OF_EXPERIMENT = ("runs", "compare")
"""Pages that are shown of its run, and of these arms."""
QUALITY = 60
"""Of the JPEG files; text stays readable and a picture has about 100 kB."""
WAIT_SECONDS = 300.0


def record(file: Path) -> None:
    """Record half an hour of the first run."""
    command = [sys.executable, "-m", "foresail", "up", "--config", str(CONFIG), "--virtual-time"]
    command += ["--for", "30m", "--record", str(file), "--state", str(file.with_name("state"))]
    subprocess.run(command, check=True, capture_output=True)


def play_experiment(file: Path, results: Path) -> None:
    """Play a short experiment, told in a file, with its results in a folder."""
    command = [sys.executable, "-m", "foresail", "experiment", "run", str(EXPERIMENT)]
    command += ["--run", str(file), "--dir", str(results)]
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def served(*words: str) -> Iterator[str]:
    """Serve the recording that the words name; yield its address once all of it is read."""
    command = [sys.executable, "-m", "foresail", "dashboard", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().split()[1]
        with httpx.Client(transport=httpx.HTTPTransport(retries=9), base_url=url) as http:
            while http.get("/healthz").json()["state"] != "live":
                continue
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_SECONDS)
        process.stdout.close()


def photograph(url: str, chromium: str, pages: Sequence[str], cycle: int | None) -> None:
    """Write a picture of each page in each look, as of the end of a cycle, and the overview's for the README."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only in the dev extra

    at = ""
    if cycle is not None:
        moment = httpx.get(f"{url}/api/moment?cycle={cycle}").json()
        at = f"at={moment['seq']}&run={moment['sections']['head']['incarnation']}"
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--no-first-run"]
        )
        for look, (width, height, scheme) in LOOKS.items():
            tab = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme="dark" if scheme == "dark" else "light",
            )
            tab.set_default_timeout(WAIT_SECONDS * 1_000)
            for page in pages:
                tab.goto(f"{url}/{page}?{at}&{SEARCHES.get(page, '')}", wait_until="networkidle")
                tab.get_by_test_id("moment").wait_for()
                tab.screenshot(path=FOLDER / f"{page}-{look}.jpg", quality=QUALITY, type="jpeg")
                if (page, look) == ("overview", "dark"):
                    tab.screenshot(path=PICTURE)
            tab.close()
        browser.close()


def main(words: Sequence[str]) -> int:
    """Record, open, photograph."""
    wanted = [page for page in PAGES if not words or page in words]
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.stderr.write("no chromium on PATH: the pictures stay as they are\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        if pages := [page for page in wanted if page not in OF_EXPERIMENT]:
            file = Path(folder) / "first-run.fslog"
            record(file)
            with served(str(file)) as url:
                photograph(url, chromium, pages, CYCLE)
        if any(page in wanted for page in OF_EXPERIMENT):
            told, results = Path(folder) / "short.fslog", Path(folder) / "short.results"
            play_experiment(told, results)
            first, second = (f"{results}:{arm}" for arm in ARMS)
            for page, arguments in (
                ("runs", (str(told),)),
                ("compare", (first, "--compare", second)),
            ):
                if page in wanted:
                    with served(*arguments) as url:
                        photograph(url, chromium, [page], None)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
