"""A cluster of the user's own, before anything starts: can it be read, and is it clear what may be
written there?

Anything wrong is one line and exit code 2; docs/real-clusters.md says the rest.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bus.errors import ConfigError
from foresail.dependent_settings import fill_dependent, mode_of
from foresail.settings import StackSettings
from projections.switchback.text import SWITCHBACK_HINT
from schemas.outcome import Mode
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.kube_lists import list_decoder, read_list
from services.named_objects import NamedObject
from services.official_client import OfficialClientTransport

PAGE = "docs/real-clusters.md"
READ = (
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/namespaces",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/statefulsets",
    "/apis/apps/v1/daemonsets",
    "/apis/batch/v1/jobs",
    "/apis/batch/v1/cronjobs",
)
"""What the collector lists, and where the executor looks for protection."""
_NAMESPACES = list_decoder(NamedObject)
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def writable_namespaces(settings: StackSettings) -> tuple[str, ...]:
    """Return the namespaces that a run with a kubeconfig may write in, by their exact names."""
    return fill_dependent(settings).executor.namespaces or ()


def check_namespaces_named(settings: StackSettings) -> None:
    """Refuse the active mode on a cluster of the user's own where it is not clear what may be written.

    Raises:
        ConfigError: no namespace is named, or a name that cannot be one or is never written; or the
            profile acts by chance.
    """
    if settings.run.kubeconfig is None or mode_of(settings, Mode.SHADOW) is not Mode.ACTIVE:
        return
    if settings.agents.draws:
        remedy = "it acts by chance, so it is for the simulated cluster alone; use --mode shadow"
        raise ConfigError("--profile", settings.agents.profile, remedy)
    names = writable_namespaces(settings)
    if not names and settings.run.namespace_prefixes:
        return  # they become names once the cluster was read
    if not names:
        remedy = "name the namespaces that --mode active may write in, exactly, as --namespaces shop,batch"
        raise ConfigError("--namespaces", "(none)", f"{remedy} ({PAGE})")
    for name in names:
        if _NAME.fullmatch(name) is None:
            raise ConfigError(
                "--namespaces", name or "(empty)", "--mode active needs exact names of namespaces"
            )
        if name in {"kube-system", *settings.executor.protected_namespaces}:
            raise ConfigError(
                "--namespaces", name, "leave it out: --mode active never writes in this namespace"
            )
    exercised = settings.exerciser.namespace
    if settings.run.exercise and exercised not in names:
        remedy = f"with --exercise add {exercised}, where it creates Deployments and Jobs"
        raise ConfigError("--namespaces", ",".join(names), remedy)


async def check_cluster(settings: StackSettings) -> StackSettings:
    """Read the user's cluster once, as the services will; return the settings with the namespaces that prefixes match.

    Raises:
        ConfigError: no answer, no rights, a kubeconfig that cannot be used, or a namespace to be
            written that is not there.
    """
    run = settings.run
    if run.kubeconfig is None:
        return settings
    with _collect_complaints() as complaints:
        transport = OfficialClientTransport(Path(run.kubeconfig), run.context)
        try:
            settings = await _with_matched(transport, settings)
            await _read(transport, settings)
        except ClusterUnavailable as error:
            remedy = (
                f"the cluster does not answer ({error}); see that its API server can be reached"
            )
            raise ConfigError("--kubeconfig", run.kubeconfig, remedy) from error
        except ClusterRefused as error:
            answer = "; ".join([error.message, *complaints])
            reason = f"{error.status} {error.reason}: {answer}"
            remedy = f"the cluster refuses to be read ({reason}); {PAGE} lists the rights"
            raise ConfigError("--kubeconfig", run.kubeconfig, remedy) from error
        finally:
            await transport.close()
    return settings


async def _with_matched(transport: Transport, settings: StackSettings) -> StackSettings:
    """Return the settings with the exact names that may be written, where prefixes were given.

    Raises:
        ConfigError: no namespace begins so.
        ClusterUnavailable, ClusterRefused: they could not be read.
    """
    run = settings.run
    if not run.namespace_prefixes or mode_of(settings, Mode.SHADOW) is not Mode.ACTIVE:
        return settings
    found = (await read_list(transport, "/api/v1/namespaces", _NAMESPACES)).items
    names = {one.metadata.name for one in found}
    if run.exercise:
        names.add(settings.exerciser.namespace)
    never = {"kube-system", *settings.executor.protected_namespaces}
    matched = sorted(name for name in names - never if name.startswith(run.namespace_prefixes))
    if not matched:
        remedy = f"no namespace that may be written begins so; there are {', '.join(sorted(names))}"
        raise ConfigError("--namespace-prefix", ",".join(run.namespace_prefixes), remedy)
    # Both are given now: what may be written by name, what is watched by prefix.
    chosen = run.model_copy(update={"namespaces": tuple(matched)})
    exact = settings.model_copy(update={"run": chosen})
    check_namespaces_named(exact)
    return exact


async def _read(transport: Transport, settings: StackSettings) -> None:
    await transport.request("GET", "/version")
    for path in READ:
        await transport.request("GET", path, {"limit": "1"})
    if mode_of(settings, Mode.SHADOW) is not Mode.ACTIVE:
        return
    for name in writable_namespaces(settings):
        if not (settings.run.exercise and name == settings.exerciser.namespace):
            await _check_exists(transport, name)


async def _check_exists(transport: Transport, name: str) -> None:
    try:
        await transport.request("GET", f"/api/v1/namespaces/{name}")
    except ClusterRefused as error:
        if error.status != 404:
            raise
        remedy = "the cluster has no such namespace; --mode active needs exact names"
        raise ConfigError("--namespaces", name, remedy) from error


@contextmanager
def _collect_complaints() -> Iterator[list[str]]:
    """Collect what the client's library complains of through `logging`, instead of printing it."""
    complaints: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            complaints.append(" ".join(record.getMessage().split())[:200])

    listener = Listener(logging.WARNING)
    root = logging.getLogger()
    root.addHandler(listener)
    try:
        yield complaints
    finally:
        root.removeHandler(listener)


def early_note(settings: StackSettings) -> str:
    """Return the line that a run with a kubeconfig prints at its start; empty for one with the twin."""
    if settings.run.kubeconfig is None:
        return ""
    if mode_of(settings, Mode.SHADOW) is Mode.SHADOW:
        beside = (
            f", but for the exerciser's load in namespace {settings.exerciser.namespace}"
            if settings.run.exercise
            else ""
        )
        return f"shadow mode: every write to this cluster is a dry run{beside} ({PAGE}). {SWITCHBACK_HINT}"
    label = settings.executor.writable_nodes
    nodes = f"nodes labelled {label}" if label else "no node"
    names = ", ".join(writable_namespaces(settings))
    return (
        "EARLY: active mode on a real cluster is new and little tried. It writes for real, in "
        f"{names} and to {nodes}, never on the control plane, in kube-system or on what "
        f"is marked do-not-disrupt; `foresail kill` stops it at once ({PAGE})"
    )


def early_label(settings: StackSettings) -> str:
    """Return the same in a few words, for headers."""
    if settings.run.kubeconfig is None or mode_of(settings, Mode.SHADOW) is Mode.SHADOW:
        return ""
    return f"EARLY: writes in {', '.join(writable_namespaces(settings))}"
