"""What every test of Foresail and of the twin gets: a state folder, and a check for what it left running.

A test that forgets an asyncio task or a child process would otherwise disturb a later one, far
from its cause. Both checks wait a moment for what is ending already, then fail the guilty test.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psutil
import pytest
import structlog
from hypothesis import HealthCheck, settings
from xdist.scheduler import Scheduling

from tests.spreading import ByFile

# How long an example or its making takes is said by the machine and what runs beside.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
ENDING_SECONDS = 120.0
"""Waited for only by a test that would otherwise fail."""
GARBAGE_OBJECTS = 20_000
"""New objects after which garbage is looked for; Python's own 700 suits smaller programs."""
LONG_MARKS = ("docker", "slow")
LONG_FILES = (
    "tests/simulation/", "tests/faults/", "tests/determinism/", "tests/traps/test_traps.py", "twin/tests/determinism/",
)  # fmt: skip
HEAVY_MARKS = ("nats", "twin", "browser", "docker", "slow")
SLOW_PLACES = (
    "tests/e2e/", "tests/faults/", "tests/forecast/", "tests/foresight/", "tests/fuzz/", "tests/golden/", "tests/lab/",
    "tests/recordings/", "tests/rerun/", "tests/simulation/", "tests/timeline/",
    "twin/tests/contract/", "twin/tests/determinism/", "twin/tests/long_run/",
    "tests/agents/test_fourth_agent.py", "tests/dashboard/test_hostile_clients.py", "tests/exerciser/",
    "tests/explain/test_objects.py", "tests/observability/test_hostile_clients.py",
    "tests/safety/test_up.py", "tests/traps/test_traps.py", "twin/tests/api/test_connections.py",
    "twin/tests/behaviour/", "twin/tests/health/", "twin/tests/provisioners/",
    "twin/tests/serving/test_agreement.py", "twin/tests/vertical/",
    "twin/tests/workloads/test_fitted_models.py",
)  # fmt: skip
"""What `make quick` leaves out: whole runs, training, recordings, searches for bad input, the twin's
hours and days, and clients that wait to be sent away."""
# multiprocessing's own helper process lives as long as the interpreter.
LASTING_COMMANDS = ("resource_tracker", "multiprocessing.forkserver")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--pure`, which `make quick` uses."""
    parser.addoption(
        "--pure", action="store_true", help="only tests that start nothing and train nothing"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--pure`, do not even import slow files: collecting takes as long as many tests."""
    if config.getoption("--pure"):
        place = collection_path.relative_to(config.rootpath).as_posix()
        return (f"{place}/" if collection_path.is_dir() else place) in SLOW_PLACES or None
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark slow folders; put the longest tests first, so that workers end at about the same time."""
    marks = {item.nodeid: {mark.name for mark in item.iter_markers()} for item in items}
    long_files = {item.path for item in items if marks[item.nodeid].intersection(LONG_MARKS)}
    waiting_files = {item.path for item in items if "twin" in marks[item.nodeid]}
    items.sort(
        key=lambda item: (
            not item.nodeid.startswith(LONG_FILES),
            item.path not in long_files,
            item.path not in waiting_files,
        )
    )
    for item in items:
        own = marks[item.nodeid]
        if item.nodeid.startswith(SLOW_PLACES):
            item.add_marker(pytest.mark.slow)
            own.add("slow")
    if config.getoption("--pure"):
        heavy = [item for item in items if marks[item.nodeid].intersection(HEAVY_MARKS)]
        config.hook.pytest_deselected(items=heavy)
        items[:] = [item for item in items if not marks[item.nodeid].intersection(HEAVY_MARKS)]


def pytest_collectstart() -> None:
    """Look for no garbage while tests are collected: nearly everything made then stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Take what collecting made out of the garbage collector's sight: it stays to the end, and looking
    through it again and again is a tenth of the processor time of tests that make many objects.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, 10, 10)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling:
    """Let workers take whole files, less those whose tests are long and share nothing."""
    return ByFile(config, log)


@pytest.fixture(autouse=True)
def _logging_ends_with_the_test() -> Iterator[None]:
    """Take back what a command run in this process set up: it may log to a stream of the test.

    Nor does the default print: a server in a thread of its own would do it while pytest replaces
    sys.stdout between two tests, and CPython 3.11 dies of that.
    """
    _log_nothing()
    yield
    _log_nothing()


def _log_nothing() -> None:
    structlog.reset_defaults()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    """Return an empty folder for one stack's state."""
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def _leaves_nothing_running(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test after which a child process of its own still runs."""
    if inspect.iscoroutinefunction(getattr(request.node, "obj", None)):
        request.getfixturevalue("_leaves_no_task")
    lasting = set(_children())
    yield
    left = _new_children(lasting)
    if left:
        _, left = psutil.wait_procs(left, timeout=ENDING_SECONDS)
    if left:
        described = ", ".join(f"{process.pid} {_command(process)}" for process in left)
        for process in left:
            process.kill()
        pytest.fail(f"the test left child processes running: {described}")


@pytest.fixture
async def _leaves_no_task() -> AsyncIterator[None]:
    """Fail an asyncio test after which a task of its own still runs."""
    lasting = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - lasting - {asyncio.current_task()}
    if left:
        _, left = await asyncio.wait(left, timeout=ENDING_SECONDS)
    if left:
        described = ", ".join(sorted(str(task.get_coro()) for task in left))
        pytest.fail(f"the test left asyncio tasks running: {described}")


def _children() -> list[psutil.Process]:
    """Return all living descendants of this process.

    psutil reads the state of every process of the machine for that. Where Linux says at once that there is no
    child, which is so for nine tests in ten, nobody else is looked at.
    """
    try:
        lists = [path.read_text() for path in Path("/proc/self/task").glob("*/children")]
    except OSError:  # a thread ended meanwhile
        lists = []
    if lists and not any(lists):
        return []
    return psutil.Process().children(recursive=True)


def _new_children(lasting: set[psutil.Process]) -> list[psutil.Process]:
    """Return living children begun during the test, less those of longer-lived fixtures."""
    found = []
    for process in _children():
        try:
            family = {process, *process.parents()}
            ended = process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            continue
        if ended or family & lasting or any(word in _command(process) for word in LASTING_COMMANDS):
            continue
        found.append(process)
    return found


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return "(gone)"
