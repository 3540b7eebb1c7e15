"""Why a controller may not make the pods that it wants: a quota, an account, a policy, a webhook."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lab.explanations.frozen_cluster import Object
from lab.explanations.waits import Surroundings, Wait, changed_seconds, condition, set_by, words_of
from twin.quantity import parse_quantity

_QUOTA = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<asked>.+?), used: (?P<used>.+?), limited: (?P<hard>.+)$"
)
_ACCOUNT = re.compile(r'serviceaccount "(?P<name>[^"]+)" not found')
_WEBHOOK = re.compile(r'admission webhook "(?P<name>[^"]+)" denied')
_POLICY = re.compile(r"ValidatingAdmissionPolicy '(?P<name>[^']+)'")
_SECURITY = re.compile(r'violates PodSecurity "(?P<name>[^"]+)"')


def refusals(maker: Object, around: Surroundings) -> Iterator[Wait]:
    """Yield why a ReplicaSet, StatefulSet, DaemonSet or Job could not make a pod, by its newest event."""
    said = words_of(around.newest_event(maker, "FailedCreate"))
    if said is None or around.is_overcome(maker, said, "SuccessfulCreate"):
        return
    since = changed_seconds(condition(maker, "ReplicaFailure"))
    step, text, who = _reading(said.text, maker, around)
    yield Wait(step, text, since, who=who, words=said)


def _reading(words: str, maker: Object, around: Surroundings) -> tuple[str, str, str]:
    if found := _QUOTA.search(words):
        return "quota", *_quota(found, around)
    if found := _ACCOUNT.search(words):
        text = f"its pods may not be made: service account {found['name']} is not there"
        return "account", text, f"who makes service account {found['name']}"
    if found := _WEBHOOK.search(words):
        text = f"its pods may not be made: webhook {found['name']} denies them"
        return "admission", text, f"who runs webhook {found['name']}, or the template of its pods"
    if found := _POLICY.search(words):
        text = f"its pods may not be made: policy {found['name']} denies them"
        return "admission", text, f"who set policy {found['name']}, or the template of its pods"
    if found := _SECURITY.search(words):
        text = (
            f"its pods may not be made: pod security {found['name']} of the namespace forbids them"
        )
        return "admission", text, "the namespace's pod-security label, or the template of its pods"
    kind, name = maker["kind"], maker["metadata"]["name"]
    return "admission", "its pods may not be made", f"the template of {kind} {name}"


def _quota(found: re.Match[str], around: Surroundings) -> tuple[str, str]:
    name, asked, hard = found["name"], _amounts(found["asked"]), _amounts(found["hard"])
    used = _amounts(found["used"])
    quota = around.named(around.quotas, name)
    if quota is None:
        parts = [f"{key} {used.get(key, '?')} of {hard.get(key, '?')} used" for key in asked]
        return (
            f"quota {name} left no room for its pods: {', '.join(parts)}",
            f"who set quota {name}, which is not there any more: the controller tries again by itself",
        )
    status = quota.get("status") or {}
    now_hard, now_used = status.get("hard") or {}, status.get("used") or {}
    parts = [
        f"{key} {now_used.get(key, '?')} of {now_hard.get(key, '?')} used, a pod asks for {amount}"
        for key, amount in asked.items()
    ]
    full = [key for key, amount in asked.items() if not _fits(amount, key, now_used, now_hard)]
    verdict = (
        "leaves no room for its pods" if full else "left no room for its pods, and has some now"
    )
    where = set_by({"kind": "ResourceQuota", **quota}, ("f:spec", "f:hard"))
    who = f"{where}, or pods that count there"
    return f"quota {name} {verdict}: {', '.join(parts)}", who


def _fits(amount: str, key: str, used: Object, hard: Object) -> bool:
    if key not in hard:
        return True
    return parse_quantity(used.get(key, "0")) + parse_quantity(amount) <= parse_quantity(hard[key])


def _amounts(text: str) -> dict[str, str]:
    """Return the amounts of a list such as `requests.cpu=1,pods=1`."""
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip(): value.strip() for name, _, value in pairs}
