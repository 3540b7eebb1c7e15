"""What an object is warned of, where headers are not at hand: in process no contract row sees them."""

from __future__ import annotations

from typing import Any

import pytest

from twin.advice import advice_of


def _pod(*ports: dict[str, Any], **container: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "ports": list(ports), **container}]}
    return {"metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        ({}, {}, "duplicate"),
        ({"hostPort": 1}, {}, "overlapping"),
        ({"hostPort": 1}, {"hostPort": 1, "hostIP": "10.0.0.1"}, "dangerously ambiguous"),
        ({"hostPort": 1}, {"hostPort": 2}, ""),
        ({"hostPort": 1, "hostIP": "10.0.0.1"}, {"hostPort": 1, "hostIP": "10.0.0.2"}, ""),
        ({}, {"protocol": "UDP"}, ""),
    ],
)
def test_ports_in_each_others_way(first: dict[str, Any], second: dict[str, Any], word: str) -> None:
    """Two definitions of one port are told, by how they get into each other's way."""
    pod = _pod({"containerPort": 80, **first}, {"containerPort": 80, **second})
    where = "spec.containers[0].ports"
    told = [f"{where}[1]: {word} port definition with {where}[0]"] if word else []
    assert advice_of("pods", pod, created=True) == told


def test_templates_are_told_of_like_pods() -> None:
    """The same sentence, with the path of the template."""
    pod = _pod(env=[{"name": "A"}, {"name": "A"}])
    job = {"metadata": {"name": "j"}, "spec": {"template": pod}}
    why = 'env[1]: hides previous definition of "A", which may be dropped when using apply'
    assert advice_of("pods", pod, created=False) == [f"spec.containers[0].{why}"]
    assert advice_of("jobs", job, created=False) == [f"spec.template.spec.containers[0].{why}"]


def test_names_are_told_of_when_they_are_new() -> None:
    """A name with a dot is told at the creation, not at each change."""
    obj = {"metadata": {"name": "a.b"}, "spec": {"template": {}}}
    assert len(advice_of("deployments", obj, created=True)) == 1
    assert advice_of("deployments", obj, created=False) == []


def test_what_is_as_it_should_be_is_not_told_of() -> None:
    """A plain pod gives no warning."""
    pod = _pod({"containerPort": 80}, image="i")
    assert advice_of("pods", pod, created=True) == []
