"""Weather that is off changes nothing."""

from __future__ import annotations

import argparse

from benchmarks.twin_health import EngineWithoutHealth, play_slice, shared_hash, world
from twin.engine import Engine

PROBE = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1}
POD = {"containers": [{"name": "c", "image": "i", "readinessProbe": PROBE, "livenessProbe": PROBE}]}


def add_probed(engine: Engine) -> None:
    """Add pods that are asked whether they are ready and alive."""
    labels = {"app": "probed"}
    template = {"metadata": {"labels": labels}, "spec": POD}
    spec = {"replicas": 5, "selector": {"matchLabels": labels}, "template": template}
    engine.store.create("deployments", "default", {"metadata": {"name": "probed"}, "spec": spec})


def test_off_is_the_world_without_the_models() -> None:
    """With the weather off everything that both keep is what an engine without models of health keeps; mild is not."""
    options = argparse.Namespace(seed=1, nodes=4, hours=0.5)
    engines = [
        world(options, Engine, "off"),
        world(options, EngineWithoutHealth, "off"),
        world(options, Engine, "mild"),
    ]
    for engine in engines:
        add_probed(engine)
    play_slice(engines, 0)
    off, without = map(shared_hash, engines[:2])

    assert off == without
    assert engines[2].clock.handled != engines[0].clock.handled
