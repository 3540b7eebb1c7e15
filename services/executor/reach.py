"""Where the executor may write, and what one operation would touch there: its object, pods, nodes, who protects them.

Read just before each write, so that guards judge the cluster as it is, not as it was decided about.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas.model import DataModel
from schemas.outcome import Mode
from services.executor.settings import ExecutorSettings


class Marked(DataModel):
    """An object that is marked do-not-disrupt, or may be marked so."""

    what: str
    """Kind and name, e.g. `statefulset shop/db`."""
    mark: str
    """The annotation or label, or why it could not be read."""


class ReachedPod(DataModel):
    """A pod that would be removed, or that runs on a node to be written."""

    namespace: str
    name: str
    daemon: bool = False
    static: bool = False
    """Started by its kubelet from a file; the API shows only a copy."""
    removed: bool
    """Evicted, deleted or scaled away; otherwise it only runs on a node to be written."""
    marked: tuple[Marked, ...] = ()
    """Of itself, its owners up the chain and its namespace, those that are marked."""

    @property
    def counts(self) -> bool:
        """Whether it is touched: DaemonSets and static pods on a node to be written are not."""
        return self.removed or not (self.daemon or self.static)

    @property
    def key(self) -> str:
        """`<namespace>/<name>`."""
        return f"{self.namespace}/{self.name}"


class ReachedNode(DataModel):
    """A node to be written, or one whose pods would be removed."""

    name: str
    written: bool
    labels: dict[str, str] = {}
    control_plane: str = ""
    """The label or taint that shows it; empty: a worker."""
    mark: str = ""
    """What marks it do-not-disrupt; empty: nothing."""


class AppliedField(DataModel):
    """A field that an operation would write and that somebody else applies."""

    manager: str
    field: str
    """Such as `spec.replicas`."""


class Reach(DataModel):
    """Everything that one operation touches."""

    resource: str
    namespace: str
    """Empty for a node."""
    name: str
    marked: tuple[Marked, ...] = ()
    """Of the object itself, its owners up the chain and its namespace, those that are marked."""
    pods: tuple[ReachedPod, ...] = ()
    nodes: tuple[ReachedNode, ...] = ()
    applied: tuple[AppliedField, ...] = ()

    @property
    def key(self) -> str:
        """`<resource> <namespace>/<name>`, or `<resource> <name>`."""
        return f"{self.resource} {self.namespace}/{self.name}".replace(" /", " ")


class Scope(DataModel):
    """Scope of writes."""

    namespaces: tuple[str, ...] | None
    """Exact names; None: every namespace and every node."""
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


def scope_of(settings: ExecutorSettings, mode: Mode, *, simulated: bool) -> Scope:
    """Return what may be written in a mode.

    Names hold in both modes, so that a dry run is refused where the write would be. Without any
    name, dry runs go everywhere, and writes only in the embedded cluster that nobody depends on.
    """
    names = settings.namespaces
    free = not names if mode is Mode.SHADOW else names is None and simulated
    return Scope(namespaces=None if free else names or (), nodes=settings.writable_nodes)
