"""The engine that the arguments name, with what each needs."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from bus.clock import SystemClock
from bus.errors import InputError
from lab.sessions.engines.job_manifest import JobTemplate
from lab.sessions.engines.local import LocalEngine, LocalLimits
from lab.sessions.engines.port import Engine

ENGINES = ("local", "kubernetes", "ray")
MIB = 1024**2
IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
"""Set in every pod: without a kubeconfig the pod's own account is used."""


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add which engine runs jobs, and where."""
    template = JobTemplate()
    parser.add_argument("--engine", choices=ENGINES, default="local",
                        help="where jobs run (default: %(default)s)")  # fmt: skip
    parser.add_argument("--job-memory", type=int, metavar="MIB",
                        help="most memory of a job, in MiB (default: no limit here, 2048 on Kubernetes)")  # fmt: skip
    parser.add_argument("--job-env", action="append", default=[], metavar="NAME=VALUE",
                        help="a variable of every job's process; repeatable")  # fmt: skip
    parser.add_argument("--ray-address", metavar="HOST:PORT",
                        help="with --engine ray: head of the cluster (default: one of this machine alone)")  # fmt: skip
    group = parser.add_argument_group("with --engine kubernetes")
    add_cluster(group)
    group.add_argument("--image", default=template.image, metavar="IMAGE",
                       help="image of the jobs; it has what they run, and a Python (default: %(default)s)")  # fmt: skip
    group.add_argument("--service-account", default=template.service_account, metavar="NAME",
                       help="account of the jobs' pods (default: %(default)s)")  # fmt: skip
    group.add_argument("--queue", metavar="NAME",
                       help="Kueue's LocalQueue: jobs are created suspended, and Kueue starts them")  # fmt: skip
    group.add_argument("--claim", metavar="NAME:PATH",
                       help="mount this PersistentVolumeClaim there, read-only, for recordings and data")  # fmt: skip


def add_cluster(group: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add which cluster, and where in it."""
    group.add_argument("--namespace", default="default", metavar="NAME",
                       help="where Jobs are created (default: %(default)s)")  # fmt: skip
    group.add_argument("--kubeconfig", metavar="FILE",
                       help="default: the pod's account in a cluster, else $KUBECONFIG or ~/.kube/config")  # fmt: skip
    group.add_argument("--context", metavar="NAME", help="context of the kubeconfig")


def environment_given(arguments: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """Return the variables of every job; raises InputError for a word without `=`."""
    pairs = []
    for word in arguments.job_env:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise InputError("--job-env", word, "write it as NAME=VALUE")
        pairs.append((name, value))
    return tuple(pairs)


def template_of(arguments: argparse.Namespace) -> JobTemplate:
    """Return what all Kubernetes Jobs share; raises InputError for a claim that cannot be read."""
    claim = None
    if arguments.claim is not None:
        name, _, path = arguments.claim.partition(":")
        if not name or not path.startswith("/"):
            raise InputError("--claim", arguments.claim, "write it as NAME:/path")
        claim = (name, path)
    plain = JobTemplate()
    memory = arguments.job_memory
    limit = plain.memory_limit if memory is None else f"{memory}Mi"
    request = plain.memory_request if memory is None or memory >= 512 else limit
    return JobTemplate(
        namespace=arguments.namespace,
        image=arguments.image,
        service_account=arguments.service_account,
        queue=arguments.queue,
        claim=claim,
        memory_request=request,
        memory_limit=limit,
    )


def kubeconfig_given(arguments: argparse.Namespace) -> Path | None:
    """Return the kubeconfig to use; None: the account of the pod that this runs in."""
    if arguments.kubeconfig is not None:
        return Path(arguments.kubeconfig)
    if IN_CLUSTER in os.environ and "KUBECONFIG" not in os.environ:
        return None
    return Path(os.environ.get("KUBECONFIG") or Path("~/.kube/config").expanduser())


def engine_of(arguments: argparse.Namespace, session: str, folder: Path) -> Engine:
    """Return the engine that the arguments name; it has not been opened.

    Raises:
        InputError: kubeconfig, context or another value cannot be used.
    """
    if arguments.engine == "local":
        memory = arguments.job_memory
        limits = LocalLimits(memory_bytes=None if memory is None else memory * MIB)
        return LocalEngine(folder, limits)
    if arguments.engine == "ray":
        from lab.sessions.engines.ray_tasks import RayEngine  # noqa: PLC0415 - an extra

        return RayEngine(arguments.ray_address, folder, Path.cwd())
    return kubernetes_engine(arguments, session, folder, template_of(arguments))


def kubernetes_engine(
    arguments: argparse.Namespace, session: str, folder: Path, template: JobTemplate
) -> Engine:
    """Return the engine for a cluster; raises as `engine_of`."""
    from lab.sessions.engines.kubernetes import KubernetesEngine  # noqa: PLC0415 - its client takes 0.3 s
    from services.official_client import OfficialClientTransport  # noqa: PLC0415

    transport = OfficialClientTransport(kubeconfig_given(arguments), arguments.context)
    return KubernetesEngine(transport, session, folder, template, SystemClock())
