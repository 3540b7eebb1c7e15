"""Puts a runner beside an API server: what it reads of it, and what it tells it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from twin.api.access import ADMIN
from twin.api.account_tokens import ISSUER, AccountTokens
from twin.api.administration import PREFIX
from twin.api.messages import JSON, Request, json_bytes
from twin.api.server import ApiServer
from twin.engine import Engine
from twin.kubeconfig import kubeconfig_of
from twin.local_pods.limits import ProcessLimits
from twin.local_pods.process import ContainerExit
from twin.local_pods.runner import Runner
from twin.records import PodRecord, Record

LOCAL_IMAGE = "foresail:local"
_FOREVER_SECONDS = 1 << 32


def runner_of(
    api: ApiServer,
    engine: Engine,
    accounts: AccountTokens,
    folder: Path,
    limits: ProcessLimits,
    url: str,
    authority_pem: bytes,
) -> Runner:
    """Return what runs the local pods of `engine`, whose API `api` serves at `url`."""

    def report(uid: str, restarts: int, end: ContainerExit) -> None:
        body = {
            "restarts": restarts,
            "exitCode": end.code,
            "reason": end.reason,
            "message": end.message,
        }
        path = f"{PREFIX}processes/{uid}/end"
        request = Request("POST", path, {}, {"content-type": JSON}, json_bytes(body))
        api.handle_and_journal(request, ADMIN)  # 409 of a run that is over already is no news

    def kubeconfig(pod: PodRecord) -> bytes | None:
        """Return the kubeconfig of the pod's account; None where there are no accounts."""
        spec = pod.shape.spec
        name = spec.get("serviceAccountName", "default")
        account = engine.store.find("serviceaccounts", pod.namespace, name)
        if not api.router.access.rbac or account is None:
            return None
        if spec.get("automountServiceAccountToken") is False:
            return None
        bound: dict[str, Record] = {"pod": pod}
        token, _ = accounts.sign(account, [ISSUER], _FOREVER_SECONDS, bound)
        return kubeconfig_of(url, token, f"{pod.namespace}:{name}", authority_pem)

    address = urlsplit(url)
    surroundings = {
        "KUBERNETES_SERVICE_HOST": address.hostname or "",
        "KUBERNETES_SERVICE_PORT": str(address.port or ""),
    }
    runner = Runner(engine, folder, limits, report, kubeconfig, surroundings)
    api.router.subresources.runner = runner
    return runner
