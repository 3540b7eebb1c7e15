"""Health checks: `/healthz`, `/livez` and `/readyz`, each check by itself and all of them in words."""

from __future__ import annotations

from twin.api.messages import Request, Response
from twin.errors import PageNotFound

TEXT = "text/plain; charset=utf-8"
NOT_SNIFFED = {"X-Content-Type-Options": "nosniff"}
_ALWAYS = ("ping", "log", "etcd")
_HOOKS = (
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/crd-informer-synced",
    "poststarthook/bootstrap-controller",
    "autoregister-completion",
)
CHECKS: dict[str, tuple[str, ...]] = {
    "healthz": (*_ALWAYS, *_HOOKS),
    "livez": (*_ALWAYS, *_HOOKS),
    "readyz": ("ping", "log", "informer-sync", *_HOOKS, "shutdown"),
}
"""The names of a real server's checks. Whoever gets an answer from this process has a cluster that is up."""


def health_paths() -> list[str]:
    """Return the path of every check."""
    paths = []
    for root, names in CHECKS.items():
        paths += [f"/{root}", *(f"/{root}/{name}" for name in names)]
    return sorted(paths)


def health(root: str, check: str, request: Request) -> Response:
    """Answer about all checks of `root`, or about one; raises PageNotFound for one that it does not have."""
    names = CHECKS[root]
    if check and check not in names:
        raise PageNotFound
    if check or "verbose" not in request.query:
        return Response(200, b"ok", TEXT, NOT_SNIFFED)
    left_out = [value for name, value in request.parameters if name == "exclude"]
    left_out = left_out or [request.query.get("exclude", "")]
    lines = [f"[+]{name} excluded: ok" if name in left_out else f"[+]{name} ok" for name in names]
    lines += [
        f'warn: some health checks cannot be excluded: no matches for "{name}"'
        for name in left_out
        if name and name not in names
    ]
    return Response(200, "\n".join([*lines, f"{root} check passed\n"]).encode(), TEXT, NOT_SNIFFED)
