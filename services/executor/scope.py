"""Where the executor may write: namespaces by their exact names, nodes by a label."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.model import DataModel
from schemas.outcome import Mode
from services.executor.settings import ExecutorSettings

OUT_OF_SCOPE = "OutOfScope"
"""The word of a refusal of ours, among the API server's own."""


class Scope(DataModel):
    """What may be written."""

    namespaces: tuple[str, ...] | None
    """Exact names, those of labelled ones among them; None: every namespace and every node."""
    nodes: str
    """`key=value` of the label that makes a node writable; empty: none is."""

    @property
    def everything(self) -> bool:
        """Whether nothing is out of bounds by its name."""
        return self.namespaces is None

    def has_namespace(self, name: str) -> bool:
        """Say whether objects of a namespace may be written."""
        return self.namespaces is None or (bool(name) and name in self.namespaces)

    def has_node(self, labels: Mapping[str, str]) -> bool:
        """Say whether a node with these labels may be written."""
        key, _, value = self.nodes.partition("=")
        return self.namespaces is None or (bool(key) and labels.get(key) == value)


EVERYWHERE = Scope(namespaces=None, nodes="")
"""Nothing is out of bounds by its name."""


def scope_of(
    settings: ExecutorSettings, mode: Mode, *, simulated: bool, labelled: tuple[str, ...] = ()
) -> Scope:
    """Return what may be written in a mode; `labelled` are the namespaces whose owners let them be written.

    Names hold in both modes, so that a dry run is refused where the write would be. Without any
    name, dry runs go everywhere, and writes only in the embedded cluster that nobody depends on.
    """
    names = settings.namespaces
    unnamed = not names and not settings.namespace_label
    free = unnamed and (mode is Mode.SHADOW or (names is None and simulated))
    allowed = tuple(dict.fromkeys((*(names or ()), *labelled)))
    return Scope(namespaces=None if free else allowed, nodes=settings.writable_nodes)
