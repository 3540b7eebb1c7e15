"""A followed history as part of a service's state: as text in its checkpoint."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator

from features.live.followed_history import FollowedHistory
from features.live.packed_history import decode_followed, encode_followed


def _restored(value: Any) -> FollowedHistory | None:
    return value if isinstance(value, FollowedHistory) else decode_followed(value)


PackedHistory = Annotated[
    FollowedHistory | None, PlainValidator(_restored), PlainSerializer(encode_followed)
]
