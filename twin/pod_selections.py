"""Pods by label selector, for controllers that ask for the same ones again and again.

Problem: an autoscaler asks every 15 s for the pods of its target, and a walk over all pods of its namespace costs
more than everything else it does. Guarantee: the answer is what such a walk would give. Nothing is indexed
until a selector is asked for, so a world of Jobs pays for one look at an empty dict for each change of a pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson

from twin.records import Object, PodRecord
from twin.selectors import matches

_KEPT = 4_096
_Pair = tuple[str, str, str]
"""(namespace, label key, label value)"""


class _Selection:
    """The pods of one namespace that one selector finds."""

    __slots__ = ("pods", "selector", "sorted")

    def __init__(self, selector: Object, pods: Iterator[PodRecord]) -> None:
        self.selector = selector
        self.pods = {pod.uid: pod for pod in pods if matches(selector, pod.labels)}
        self.sorted: list[PodRecord] | None = None


class PodSelections:
    """Selections that were asked for, kept up to date by `follow`; all caches, so nothing to keep."""

    __slots__ = ("_asked", "_by_pair")

    def __init__(self) -> None:
        self._asked: dict[tuple[str, bytes], _Selection] = {}
        self._by_pair: dict[_Pair, list[_Selection]] = {}

    def find(
        self, namespace: str, selector: Object, everybody: Iterator[PodRecord]
    ) -> list[PodRecord]:
        """Return the pods of a namespace that a selector finds, by name; `everybody` yields the live pods
        of the namespace, and is walked the first time only. The list is shared: do not change it.
        """
        pair = _pair(namespace, selector)
        if pair is None:
            return [pod for pod in everybody if matches(selector, pod.labels)]
        mark = (namespace, orjson.dumps(selector))
        found = self._asked.get(mark)
        if found is None:
            if len(self._asked) >= _KEPT:
                self.forget()
            found = self._asked[mark] = _Selection(selector, everybody)
            self._by_pair.setdefault(pair, []).append(found)
        if found.sorted is None:
            found.sorted = sorted(found.pods.values(), key=_name)
        return found.sorted

    def forget(self) -> None:
        """Forget everything that was asked for."""
        self._asked.clear()
        self._by_pair.clear()

    def follow(
        self, pod: PodRecord, labels: Mapping[str, str] | None, *, gone: bool = False
    ) -> None:
        """Take in a live pod that has come, or whose labels were `labels` until now, or that is gone."""
        if not self._by_pair:
            return
        if labels is not None:
            for entry in self._near(pod.namespace, labels):
                if entry.pods.pop(pod.uid, None) is not None:
                    entry.sorted = None
        if gone:
            return
        for entry in self._near(pod.namespace, pod.labels):
            if matches(entry.selector, pod.labels):
                entry.pods[pod.uid] = pod
                entry.sorted = None

    def _near(self, namespace: str, labels: Mapping[str, str]) -> Iterator[_Selection]:
        """Yield the selections that may select a pod with these labels."""
        for key, value in labels.items():
            yield from self._by_pair.get((namespace, key, value), ())


def _pair(namespace: str, selector: Object) -> _Pair | None:
    """Return a label that every pod of a selection has, None when the selector names none."""
    for key, value in (selector.get("matchLabels") or {}).items():
        return namespace, key, value
    for rule in selector.get("matchExpressions") or ():
        if rule["operator"] == "In" and len(rule.get("values") or ()) == 1:
            return namespace, rule["key"], rule["values"][0]
    return None


def _name(pod: PodRecord) -> str:
    return pod.name
