"""A world with Roles and bindings: journaled, restored and told apart from one without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inputs.errors import ConfigError
from twin.__main__ import build_engine
from twin.api.access import Identity
from twin.api.journal import Journal
from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.checkpoint import Checkpoint
from twin.config import START_2026, TwinConfig
from twin.encoding import state_lines
from twin.engine import Engine
from twin.settings import TwinSettings
from twin.world_settings import world_of

PLAIN = TwinSettings(seed=5, nodes=2, workload="idle", start_time_seconds=START_2026)
WORLD = PLAIN.model_copy(update={"authorization": "rbac"})
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
JANE = Identity("jane", (), paths=(), stranger="jane")


def _post(path: str, body: dict[str, Any]) -> Request:
    headers = {"content-type": "application/json"}
    return Request("POST", path, {"fieldManager": "test"}, headers, json.dumps(body).encode())


def _writes() -> list[Request]:
    selector = {"matchLabels": {"part": "yes"}}
    rules = [{"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "sum"}
    return [
        _post(
            ROLES,
            {
                "metadata": {"name": "sum"},
                "aggregationRule": {"clusterRoleSelectors": [selector]},
            },
        ),
        _post(ROLES, {"metadata": {"name": "part", "labels": {"part": "yes"}}, "rules": rules}),
        _post(
            BINDINGS,
            {
                "metadata": {"name": "jane"},
                "roleRef": reference,
                "subjects": [{"kind": "User", "name": "jane"}],
            },
        ),
    ]


def _live(path: Path) -> tuple[Engine, int]:
    """Grant something and use it; return the engine and the status of the use."""
    engine = build_engine(WORLD)
    journal = Journal(path, world_of(WORLD))
    journal.replay(engine)
    router, status = Router(engine), 0
    use = _post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "hers"}})
    for request in (*_writes(), use):
        journal.reserve(engine.now + 1.0, 0.5)
        engine.advance(engine.now + 1.0)
        answer = router.handle(request) if request is not use else router.handle(request, JANE)
        assert isinstance(answer, Response)
        status = answer.status
        journal.note(engine.now, request, "jane" if request is use else "admin")
    journal.close()
    return engine, status


def test_a_restarted_world_is_the_same_world(tmp_path: Path) -> None:
    """What a user wrote by right of an aggregated role is there after the journal was re-run, and a
    checkpoint restores the same state."""
    path = tmp_path / "journal"
    first, status = _live(path)
    assert status == 201
    second, journal = build_engine(WORLD), Journal(path, world_of(WORLD))
    journal.replay(second, until=first.now)
    journal.close()
    assert first.state_hash() == second.state_hash()
    checkpoint = Checkpoint.of(first, world_of(WORLD).line(), journal_bytes=0, marked=first.now)
    checkpoint.write(tmp_path / "kept")
    third = build_engine(WORLD)
    Checkpoint.read(tmp_path / "kept", world_of(WORLD).line()).restore(third, tmp_path / "kept")
    assert third.state_hash() == first.state_hash()


def test_a_journal_belongs_to_its_authorization(tmp_path: Path) -> None:
    """A journal of a world with Roles cannot be re-run in one without, and the other way round."""
    Journal(tmp_path / "journal", world_of(WORLD)).close()
    with pytest.raises(ConfigError, match="authorization"):
        Journal(tmp_path / "journal", world_of(PLAIN))


def test_other_worlds_keep_their_state_lines() -> None:
    """Without the setting, neither the settings in the state hash nor the objects mention it."""
    engine = build_engine(PLAIN.model_copy(update={"server_objects": False}))
    lines = list(state_lines(engine.seed, engine.config, engine.parts))
    assert b"authorization" not in b"".join(lines)
    assert engine.store.count("clusterroles") == 0
    settings = json.loads(next(iter(state_lines(0, TwinConfig(), {}))))
    assert "access" not in settings[2]
