"""What a client asks of a pod's log, checked as a real server checks PodLogOptions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from twin.api.schema.go_words import time_error
from twin.errors import bad_request, invalid

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_LEAST = {"tailLines": 0, "sinceSeconds": 1, "limitBytes": 1}
_RULES = {0: "must be greater than or equal to 0", 1: "must be greater than 0"}


def check_log_options(name: str, query: Mapping[str, str]) -> None:
    """Check the parameters of a request for the log of the pod of a name.

    Raises:
        ApiError: 400 for what is no number or time, 422 for one that is not allowed.
    """
    numbers: dict[str, int] = {}
    for field in _LEAST:
        text = query.get(field, "")
        if text and not _WHOLE.fullmatch(text):
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        if text:
            numbers[field] = int(text)
    since = query.get("sinceTime", "")
    if since and (why := time_error(since)):
        raise bad_request(why)
    causes = [
        (field, f"Invalid value: {number}: {_RULES[_LEAST[field]]}")
        for field, number in numbers.items()
        if number < _LEAST[field]
    ]
    if since and "sinceSeconds" in numbers:
        why = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.insert(0, ("[]", f"Forbidden: {why}"))
    if causes:
        raise invalid("PodLogOptions", "", name, causes)
