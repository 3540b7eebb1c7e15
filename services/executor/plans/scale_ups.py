"""Annotation on an object whose replicas we raised: the number that its owner asked for."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from schemas.model import DataModel
from schemas.numbers import Count
from schemas.surge import OWNER_REPLICAS
from services.held import MOST_REPLICAS


class ScaleUp(DataModel):
    """Replicas of an object before and after we raised them."""

    owner: Count
    """The number that its owner wrote; we never write a lower one."""
    ours: Count
    """The number that we wrote; while the object shows another, somebody else has written it since."""
    base: Count
    """Replicas that the Deployment had without us: the owner's number, or what its autoscaler had chosen."""
    time_seconds: Count
    """Cluster time at which we wrote it, in whole seconds."""

    @property
    def added_pods(self) -> int:
        """Pods that are there because of us."""
        return max(0, self.ours - self.base)


def read_scale_up(annotations: Mapping[str, str]) -> ScaleUp | None:
    """Return what an object's annotation remembers; None where there is none, or it is not ours to read.

    Anybody may write annotations: what cannot be a raise of ours is none.
    """
    text = annotations.get(OWNER_REPLICAS)
    if text is None:
        return None
    try:
        remembered = ScaleUp.model_validate_json(text, strict=True)
    except ValidationError:
        return None
    possible = remembered.owner < remembered.ours <= MOST_REPLICAS
    return remembered if possible else None


def added_pods(annotations: Mapping[str, str], number: int) -> int:
    """Return the pods that a raise adds which still stands: the object's number is the one that we wrote."""
    remembered = read_scale_up(annotations)
    return remembered.added_pods if remembered and remembered.ours == number else 0
