"""Pods by label selector are what a walk over all pods would find, whatever happens to them in between."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from twin.engine import Engine
from twin.selectors import matches

Object = dict[str, Any]
SELECTORS: tuple[Object, ...] = (
    {"matchLabels": {"app": "a"}},
    {"matchLabels": {"app": "a", "tier": "x"}},
    {"matchExpressions": [{"key": "app", "operator": "In", "values": ["b"]}]},
    {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]},
    {},
)


def check(engine: Engine) -> None:
    """Compare every selection with a walk."""
    for namespace in ("default", "kube-public"):
        for selector in SELECTORS:
            walked = [
                pod
                for pod in engine.store.records("pods", namespace)
                if matches(selector, pod.labels)
            ]
            assert engine.world.select_pods(namespace, selector) == walked


def test_selections_follow_pods(engine: Engine, pod: Callable[..., Object]) -> None:
    """Pods that come, go and get other labels are in the selections that they belong to, by name."""
    random, store, names = Random(5), engine.store, list[str]()
    check(engine)
    for number in range(60):
        labels = {"app": random.choice("abc"), "tier": random.choice("xyz")}
        if names and random.random() < 0.3:
            store.delete("pods", "default", names.pop(random.randrange(len(names))))
        elif names and random.random() < 0.5:
            obj = store.get("pods", "default", random.choice(names))
            obj = {**obj, "metadata": {**obj["metadata"], "labels": labels}}
            store.replace("pods", "default", obj["metadata"]["name"], obj)
        else:
            names.append(f"p{random.randrange(1_000)}-{number}")
            store.create("pods", "default", pod(names[-1], "100m", "64Mi", labels=labels))
        if number % 7 == 0:
            store.create("pods", "kube-public", pod(f"q{number}", "100m", labels=labels))
            engine.advance(engine.now + 9.0)
            names = [record.name for record in store.records("pods", "default")]
        check(engine)


def test_a_clone_has_selections_of_its_own(engine: Engine, pod: Callable[..., Object]) -> None:
    """What a clone selects are its own pods."""
    engine.store.create("pods", "default", pod("p", labels={"app": "a"}))
    check(engine)
    other = engine.clone()
    check(other)
    other.store.delete("pods", "default", "p")
    check(other)
    check(engine)
