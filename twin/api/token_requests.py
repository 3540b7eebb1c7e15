"""What clients ask of tokens: TokenRequest (`kubectl create token`), and the key to check them."""

from __future__ import annotations

from dataclasses import replace

from twin.api.account_tokens import ISSUER, AccountTokens
from twin.api.bodies import check_place, read_object, require_map
from twin.api.messages import Object, Request, Response, json_bytes, respond
from twin.api.negotiation import accepted, not_acceptable
from twin.api.reviews import AUTHENTICATION
from twin.errors import bad_request, conflict, invalid, method_not_allowed
from twin.kinds import Kind
from twin.records import PodRecord, Record
from twin.store import Store
from twin.timestamps import rfc3339

LEAST_SECONDS, MOST_SECONDS = 600, 1 << 32
DEFAULT_SECONDS = 3_600
_TOKEN_REQUESTS = Kind("tokenrequests", "TokenRequest", AUTHENTICATION, "v1", True)
"""What a request for a token is read as."""
_BOUND = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
KEY_SET = "application/jwk-set+json"
KEYS, CONFIGURATION = "/openid/v1/jwks", "/.well-known/openid-configuration"


def request_token(
    store: Store, tokens: AccountTokens, place: tuple[str, str], request: Request
) -> Response:
    """Answer a TokenRequest for the account at (namespace, name); raises ApiError 400, 404, 409 or 422."""
    if request.method != "POST":
        raise method_not_allowed()
    namespace, name = place
    stated = read_object(request, _TOKEN_REQUESTS)
    spec = require_map(stated.obj, "spec")
    check_place(stated.obj, namespace)
    account = store.record("serviceaccounts", namespace, name)
    named = require_map(stated.obj, "metadata").get("name")
    if named and named != name:
        why = f'Invalid value: "{named}": must match the service account name if specified'
        raise invalid("TokenRequest", AUTHENTICATION, name, [("metadata.name", why)])
    seconds = _seconds(spec.get("expirationSeconds"))
    reference = require_map(spec, "boundObjectRef") or None
    bound = {} if reference is None else _bound(store, account, reference)
    audiences = spec.get("audiences") or [ISSUER]
    token, expires = tokens.sign(account, audiences, seconds, bound)
    now = expires - seconds
    answer: Object = {
        "kind": "TokenRequest",
        "apiVersion": f"{AUTHENTICATION}/v1",
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": rfc3339(now)},
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": reference,
        },
        "status": {"token": token, "expirationTimestamp": rfc3339(expires)},
    }
    return replace(respond(201, answer), headers=stated.headers())


def issuer_document(tokens: AccountTokens, path: str, request: Request) -> Response | None:
    """Answer who signs tokens and with which key; None for other paths."""
    if request.method not in ("GET", "HEAD"):
        return None
    if path == KEYS:
        wanted = [media for media, _ in accepted(request.headers.get("accept", ""))]
        if wanted and not {KEY_SET, "*/*", "application/*"} & set(wanted):
            raise not_acceptable((KEY_SET,), framework=True)
        return Response(200, json_bytes(tokens.key_set()), KEY_SET)
    if path == CONFIGURATION:
        document = {
            "issuer": ISSUER,
            "jwks_uri": f"{ISSUER}{KEYS}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }
        return respond(200, document)
    return None


def _seconds(stated: int | None) -> int:
    if stated is None:
        return DEFAULT_SECONDS
    why = ""
    if stated < LEAST_SECONDS:
        why = "may not specify a duration less than 10 minutes"
    elif stated > MOST_SECONDS:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        cause = ("spec.expirationSeconds", f"Invalid value: {stated}: {why}")
        raise invalid("TokenRequest", AUTHENTICATION, "", [cause])
    return stated


def _bound(store: Store, account: Record, reference: Object) -> dict[str, Record]:
    """Return the objects that a token depends on; raises ApiError 400, 404 or 409."""
    kind, version = str(reference.get("kind", "")), str(reference.get("apiVersion", ""))
    resource = _BOUND.get(kind)
    if resource is None or version != "v1":
        group, _, bare = version.rpartition("/")
        named = f"{group}/{bare}, Kind={kind}"
        raise bad_request(f"cannot bind token to object of type {named}")
    home = "" if resource == "nodes" else account.namespace
    record = store.record(resource, home, str(reference.get("name", "")))
    if isinstance(record, PodRecord):
        runs_as = record.shape.spec.get("serviceAccountName", "default")
        if runs_as != account.name:
            raise bad_request(
                f'cannot bind token for serviceaccount "{account.name}" to pod running with different '
                "serviceaccount name."
            )
    uid = reference.get("uid")
    if uid and uid != record.uid:
        why = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. The "
            "object might have been deleted and then recreated"
        )
        raise conflict(kind, record.name, why)
    bound = {kind.lower(): record}
    if isinstance(record, PodRecord) and record.node_name:
        node = store.find("nodes", "", record.node_name)
        bound |= {} if node is None else {"node": node}
    return bound
