"""One cycle as trained risk models see it: a row for each workload on each node, and its features.

Features are made once, however many models read them. Those whose source is stale or missing are
given as missing, and every source's age is stated.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from features.codes import parts_of
from features.live.failure_rates import FailureRates
from features.live.live_history import LIVE_SETS, LiveHistory
from features.live.pod_changes import PodSnapshot
from schemas.prediction import FeatureSource
from schemas.reasons import Reason
from schemas.signals import SignalStatus
from schemas.view import ObservationView
from services.inference.booster import Matrix

I64 = NDArray[np.int64]
SIGNALS = {"attempts": "pods", "requests": "pods", "nodes": "node_requests"}
"""Source of a feature, to the signal of the observation that says how old it is."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Workloads on nodes, each node's rows together."""

    ids: tuple[str, ...]
    """`<node>|<workload>`."""
    nodes: tuple[str, ...]
    """Node names in the order of their rows."""
    first_rows: I64
    """Number of each node's first row."""
    pods: I64
    places: I64
    """Numbers of the rows in the newest snapshot."""


class RiskInputs:
    """One observation with what inference knows of attempts."""

    def __init__(
        self,
        view: ObservationView,
        live: LiveHistory | None,
        rates: Mapping[str, FailureRates] | None = None,
    ) -> None:
        """Look at one cycle; features are made when the first model asks.

        Args:
            view: the observation.
            live: the history of attempts.
            rates: the cluster's rates, by id of the models that follow them.
        """
        self.view = view
        self.rates = rates or {}
        self._live = live
        self._matrices: dict[str, Matrix] = {}
        self._hashes: dict[str, str] = {}

    @cached_property
    def problem(self) -> Reason | None:
        """Why no trained risk model can say anything; None when it can."""
        if self._live is None or self._live.newest is None or self._live.scale is None:
            return Reason.MISSING_SIGNAL
        if not self._current and self.status("pods") is not SignalStatus.MISSING:
            return Reason.MISSING_SIGNAL  # a frame was lost; the next keyframe mends it
        return None if len(self.view.nodes) else Reason.NO_NODES

    @property
    def _current(self) -> bool:
        """Whether the newest snapshot in the history is this cycle's."""
        newest = None if self._live is None else self._live.newest
        return newest is not None and newest.placed.cycle == self.view.cycle

    @cached_property
    def excepted(self) -> frozenset[str]:
        """Nodes of which the pods are not known."""
        pods = (signal for signal in self.view.signals if signal.name == "pods")
        return frozenset(row for signal in pods for row in signal.exceptions)

    def status(self, signal_name: str) -> SignalStatus:
        """Return how far a signal can be trusted."""
        signal = self.view.signal(signal_name)
        return SignalStatus.MISSING if signal is None else signal.status

    def sources(
        self, features: tuple[int, ...], feature_set: str = "live"
    ) -> tuple[FeatureSource, ...]:
        """Return where a model's features come from, and how old that is.

        Args:
            features: numbers of the model's features in the set.
            feature_set: which set that exists live.
        """
        counts = Counter(SOURCES[feature_set][number] for number in features)
        return tuple(
            FeatureSource(
                name=source,
                status=self.status(SIGNALS[source]),
                age_seconds=self._age(SIGNALS[source]),
                features=counts[source],
            )
            for source in sorted(counts)
        )

    def _age(self, name: str) -> float | None:
        signal = self.view.signal(name)
        return None if signal is None else signal.age_seconds

    @cached_property
    def rows(self) -> Rows:
        """The rows and their features; `problem` must be None."""
        assert self._live is not None
        assert self._live.newest is not None
        placed = self._live.newest.placed
        known = frozenset(self.view.nodes.ids) - self.excepted
        firsts = np.flatnonzero(np.diff(placed.machine, prepend=-1))
        names = [parts_of(placed.ids[row])[0] for row in firsts.tolist()]
        sizes = np.diff(firsts, append=len(placed))
        here = np.repeat(np.array([name in known for name in names], dtype=np.bool_), sizes)
        chosen = np.flatnonzero(here & (placed.pods > 0))
        places = np.flatnonzero(np.diff(placed.machine[chosen], prepend=-1))
        ids = tuple(placed.ids[row] for row in chosen.tolist())
        nodes = tuple(parts_of(ids[place])[0] for place in places.tolist())
        return Rows(ids, nodes, places, placed.pods[chosen], chosen)

    @property
    def owners(self) -> I64:
        """Code of each row's owner, its namespace; `problem` must be None."""
        assert self._live is not None
        assert self._live.newest is not None
        return self._live.newest.placed.user[self.rows.places]

    @property
    def newest(self) -> PodSnapshot:
        """The newest snapshot; `problem` must be None."""
        assert self._live is not None
        assert self._live.newest is not None
        return self._live.newest

    def matrix(self, feature_set: str) -> Matrix:
        """Return (rows, features of a set that exists live); `problem` must be None."""
        if feature_set not in self._matrices:
            self._matrices[feature_set] = self._features(feature_set)
        return self._matrices[feature_set]

    def _features(self, feature_set: str) -> Matrix:
        assert self._live is not None
        anchors = self._live.anchors(self.view, self.rows.places)
        matrix = self._live.history.features(anchors, LIVE_SETS[feature_set])
        for source, signal in SIGNALS.items():
            if self.status(signal) is not SignalStatus.FRESH:
                matrix[:, COLUMNS[feature_set][source]] = np.nan
        return matrix

    def features_hash(self, feature_set: str) -> str:
        """Return the SHA-256 of the rows' ids and features."""
        if feature_set not in self._hashes:
            digest = hashlib.sha256("\n".join(self.rows.ids).encode())
            digest.update(np.ascontiguousarray(self.matrix(feature_set), dtype="<f4").data)
            self._hashes[feature_set] = digest.hexdigest()
        return self._hashes[feature_set]


SOURCES = {
    name: tuple(feature.source for feature in chosen.features) for name, chosen in LIVE_SETS.items()
}
"""Source of each column, by set."""
COLUMNS = {
    feature_set: {
        name: np.array([place for place, source in enumerate(sources) if source == name], np.int64)
        for name in SIGNALS
    }
    for feature_set, sources in SOURCES.items()
}
"""Columns by set and source."""
