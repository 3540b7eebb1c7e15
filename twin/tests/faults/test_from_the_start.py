"""A scenario given at the start is part of the world that a journal belongs to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from inputs.errors import ConfigError
from twin.__main__ import build_engine, main
from twin.api.journal import Journal
from twin.config import START_2026
from twin.settings import TwinSettings
from twin.world_settings import world_of

DEATH = "faults:\n- {fault: node_death, at_seconds: 10, nodes: {names: [node-0000]}}\n"


def settings(folder: Path, text: str | None) -> TwinSettings:
    """Return the settings of a small twin, with a scenario or without."""
    if text is None:
        return TwinSettings(nodes=2, workload="idle", start_time_seconds=START_2026)
    path = folder / "scenario.yaml"
    path.write_text(text)
    return TwinSettings(nodes=2, workload="idle", scenario=path, start_time_seconds=START_2026)


def test_it_is_played_from_the_start(tmp_path: Path) -> None:
    """The node that it names is dead soon after the cluster begins."""
    engine = build_engine(settings(tmp_path, DEATH))
    engine.advance(engine.now + 11)

    assert list(engine.world.down) == ["node-0000"]


def test_a_journal_belongs_to_its_scenario(tmp_path: Path) -> None:
    """With another scenario, or none, the journal is refused; a changed comment changes nothing."""
    path = tmp_path / "journal"
    Journal(path, world_of(settings(tmp_path, DEATH))).close()
    Journal(path, world_of(settings(tmp_path, f"# said again\n{DEATH}"))).close()
    for other in (None, DEATH.replace("10", "11")):
        with pytest.raises(ConfigError, match="another seed, node count, workload, scenario"):
            Journal(path, world_of(settings(tmp_path, other)))


def test_a_world_without_scenario_is_named_as_before(tmp_path: Path) -> None:
    """Journals from before there were scenarios still belong to their worlds."""
    assert "scenario" not in world_of(settings(tmp_path, None)).line()


def test_a_wrong_scenario_ends_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr and exit code 2, before anything listens."""
    path = tmp_path / "bad.yaml"
    path.write_text("faults:\n- {fault: node_death, nodes: {}, duration_seconds: -1}\n")
    folder = str(tmp_path / "state")
    words = ["twin", "--scenario", str(path), "--workload", "idle", "--kubeconfig-dir", folder]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.delenv("FORESAIL_PARENT", raising=False)

    assert main() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("bad.yaml line 2: faults[0].duration_seconds = -1")
