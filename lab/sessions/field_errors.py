"""What pydantic says of a value in a file, as one line that names field, value and remedy."""

from __future__ import annotations

from pydantic import ValidationError

from bus.errors import InputError

LONGEST_VALUE = 120
FLAG = "--"
GLUED = (": ", FLAG)
"""A field that ends so has no dot between it and the place."""
_PLAIN = (
    ("Value error, ", ""),
    ("Input should be a valid tuple", "give a list"),
    ("Tuple should have at least 1 item after validation, not 0", "give at least one"),
    ("Input should be", "it should be"),
)


def field_error(field: str, error: ValidationError, skip: int = 0) -> InputError:
    """Return the first finding of `error`; `field` stands before its place, of which `skip` parts are left out."""
    first = error.errors(include_url=False, include_context=False)[0]
    message = first["msg"]
    for theirs, ours in _PLAIN:
        message = message.replace(theirs, ours)
    place = ".".join(str(part) for part in first["loc"][skip:])
    if field == FLAG:
        place = place.replace("_", "-")
    where = f"{field}{place}" if field.endswith(GLUED) else ".".join(filter(None, (field, place)))
    return InputError(where.removesuffix(": "), repr(first["input"])[:LONGEST_VALUE], message)
