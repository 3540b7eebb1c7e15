"""Which texts of an event may be read by anybody, and which anybody could have written anything into.

What is not named here as public is hidden: a field that is added to an event type is hidden until
somebody says that it is public, and why.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin

import orjson
from pydantic import BaseModel

from schemas.registry import EVENT_TYPES, to_json

OPEN_FIELDS = frozenset(("settings", "state"))
"""Objects of any form that are computed with again: in them a text of ours cannot be told from others by
its field; names are replaced in them as everywhere."""
PUBLIC_FIELDS = frozenset(
    (
        # Ids, hashes and versions: they name events and objects, never what is in them.
        *(
            "config_hash",
            "decision_id",
            "execution_id",
            "features_hash",
            "id",
            "nonce",
            "observation_id",
        ),
        *(
            "overridden",
            "resource_version",
            "rollback_of",
            "run_id",
            "selected",
            "sha256",
            "state_hash",
        ),
        *("code_version", "uid"),
        "currency",
        # Models by name and version: without them nothing could be computed again.
        *("before", "demand_model_id", "driving", "model_id", "model_ids"),
        # Names of agents: folders of the code, not objects of the cluster.
        *("agent", "by", "expected_agents", "intended_agent", "missing", "selected_agent"),
        # One of a few words: of a prediction, and the reason of a Job's condition.
        "failure",
        # Numbers, compressed.
        "basis",
        *("packed_sources", "packed_values"),
        # Words of ours, one of a few that stand in the code.
        *(
            "comparison",
            "direction",
            "feature",
            "grounds",
            "guard",
            "intended_rule",
            "label",
            "means",
            "needs",
            "notices",
        ),
        *("name", "pending_class", "phase", "power_state", "process", "profile", "resource"),
        *("rule", "scale", "signal", "since", "source", "stage", "term", "unit"),
    )
)
"""Plain texts that stay as they are; `name` is that of a signal, a feature or a measured value (names of
objects are replaced where `lab.recordings.names` finds them)."""
PATCH_FIELDS = frozenset(("patch", "undo"))
"""JSON merge patches: labels, annotations and their former values stand in them."""
HIDDEN_FIELDS = {
    "foresail.control.v1": ("text",),
    "foresail.run.error.v1": ("text",),
    "foresail.run.stage.v1": ("detail",),
    "foresail.run.data_source.v1": ("name", "detail"),
}
"""By type: fields whose name is that of a sentence or word of ours elsewhere, and whose text is not."""
FOREIGN_TAILS = {"foresail.outcome.execution.v1": "", "foresail.reaction.v1": "reactions"}
"""Types whose sentence ends, behind a colon, with what the API server said; where it stands."""
OURS = ("fitted_model", "idle")
"""Data sources that we ship: what is said of them is ours."""

_KEYS = """
annotations api apiVersion conditions containers cpu effect env key kind labels limits memory
metadata nodeSelector operator parallelism priorityClassName replicas requests resources spec status
suspend taints template tolerations unschedulable value
"""
_PATCH_KEYS = frozenset(_KEYS.split())
_PATCH_WORDS = frozenset(("NoSchedule", "NoExecute", "PreferNoSchedule", "Exists", "Equal"))
_SENTENCES = """
a action admission affinity after again already amd.com and api apply are as at attached available
be been before binding bound by cannot changed changes claim claims cluster code completed conflict
connection constraints containercreating containers could cpu crashloopbackoff creating currently
deadline deallocate delete deleted denied didn disruption does doesn dryrun due enough
ephemeral-storage errimageneverpull errimagepull error evict evicted eviction exceeded exists
expected failed field find for forbidden found free from gone gpu group had has have helpful host
http image imageinspecterror imagepullbackoff immediate in incoming insufficient internal invalid
invalidimagename is it its key latest limit many match matching may memory message metadata method
missing modified modify more must name namespace need needs new no node nodeaffinity nodes not
nvidia.com object of on oomkilled operation or other patch persistent persistentvolumeclaim please
plugin pod podinitializing pods port ports possible precondition preemption provisioning quota
reached reason refused registryunavailable removed request requested requests required resource
resources rule rules running s satisfy scale scheduling schedulinggated scope selector server
service should spec spread start status storage t taint taints target temporarily terminated that
the there this timed timeout to tolerate tolerated too topology try type unable unavailable unbound
unexpected unhealthy unknown unreachable unschedulable untolerated update user using value verb
version victims violate volume volumes wait waiting was were when while with would your zone zones
"""
VOCABULARY = frozenset(_SENTENCES.split())
"""Words of the scheduler's and the API server's own sentences, in lower case: they stay."""


def plain_fields(kind: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """Yield the path of every field of an event type that can hold any text: no enum, no fixed word."""
    for path, is_plain in _texts(kind, ()):
        if is_plain:
            yield path


def _texts(annotation: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield every place for a text inside a type, and whether any text may stand there."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _texts(get_args(annotation)[0], path)
    elif origin is Literal:
        yield path, False
    elif origin is not None or isinstance(annotation, types.UnionType):
        for argument in get_args(annotation):
            yield from _texts(argument, path)
    elif annotation is str:
        yield path, True
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        yield path, False
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            yield from _texts(field.annotation, (*path, name))


WORD_FIELDS = frozenset(
    path[-1] for kind in EVENT_TYPES for path, is_plain in _texts(kind, ()) if path and not is_plain
)
"""Fields that hold one of a few words somewhere."""
PLAIN_FIELDS = frozenset(path[-1] for kind in EVENT_TYPES for path in plain_fields(kind))
STAYING_FIELDS = PUBLIC_FIELDS | (WORD_FIELDS - PLAIN_FIELDS)


def patch_without(patch: str, hide: Callable[[str], str], keep: Callable[[str], bool]) -> str:
    """Return a JSON merge patch whose form stays and whose words are hidden.

    Args:
        patch: the patch; what is no JSON is hidden whole.
        hide: gives what takes a word's place.
        keep: says which labels and annotations everybody has.
    """

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key if key in _PATCH_KEYS or keep(key) else hide(key): walk(inner)
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [walk(inner) for inner in value]
        known = not isinstance(value, str) or value in _PATCH_WORDS or keep(value)
        return value if known else hide(value)

    if not patch:
        return patch
    try:
        return to_json(walk(orjson.loads(patch))).decode()
    except ValueError:
        return hide(patch)
