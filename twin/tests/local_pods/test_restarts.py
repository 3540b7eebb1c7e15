"""A twin that is killed and started again has the same cluster, and runs nothing twice."""

from __future__ import annotations

import pytest

from inputs.errors import ConfigError
from twin.__main__ import build_engine
from twin.api.journal import Journal
from twin.settings import TwinSettings
from twin.tests.local_pods.conftest import LocalTwin, alive, until
from twin.world_settings import as_recorded, world_of

pytestmark = pytest.mark.twin


def test_a_killed_twin_runs_nothing_twice(own_twin: LocalTwin) -> None:
    """What had ended stays as it ended; what was running dies with the twin and is told so."""
    own_twin.start()
    note = own_twin.folder / "runs"
    own_twin.python("done", f"open({str(note)!r}, 'a').write('x')")
    own_twin.python("long", "import os, time; print(os.getpid()); time.sleep(60)")
    assert own_twin.ended("done").exit_code == 0
    pid = int(until(lambda: _running_log(own_twin)))
    own_twin.end(kill=True)
    until(lambda: not alive(pid))
    own_twin.start()
    assert own_twin.ended("done").exit_code == 0
    end = own_twin.ended("long")
    assert (end.exit_code, end.reason) == (137, "Error")
    assert note.read_text(encoding="utf-8") == "x"


def _running_log(twin: LocalTwin) -> str:
    pod = twin.pod("long")
    return twin.log("long") if pod and pod.status.phase == "Running" else ""


def test_the_journal_alone_gives_the_same_state(own_twin: LocalTwin) -> None:
    """Ends of processes are in the journal: re-run without a process, it has the same hash."""
    own_twin.start()
    own_twin.python("failing", "import sys; sys.exit(7)")
    assert own_twin.ended("failing").exit_code == 7
    now, expected = own_twin.state()
    own_twin.end(kill=True)
    path = own_twin.folder / "journal"
    given = TwinSettings(seed=4, nodes=3, workload="idle", run_commands=True, journal=path)
    settings = as_recorded(given)
    engine = build_engine(settings)
    Journal(path, world_of(settings)).replay(engine, until=now)
    assert engine.state_hash() == expected


def test_a_journal_of_simulated_pods_is_not_continued(own_twin: LocalTwin) -> None:
    """Whether commands run belongs to the world, since their ends do."""
    own_twin.start()
    own_twin.end()
    path = own_twin.folder / "journal"
    settings = as_recorded(TwinSettings(seed=4, nodes=3, workload="idle", journal=path))
    with pytest.raises(ConfigError, match="way to run commands, choice of parts"):
        Journal(path, world_of(settings))
