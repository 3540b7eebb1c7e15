"""Pages as files: one layout, everything escaped, nothing loaded from elsewhere, readable without scripts.

The texts are the templates in `foresail/templates/`; what is computed for them is plain data.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bus.errors import InputError
from projections.figures import cell, duration, number, signed_text

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")


def render(template: str, **values: Any) -> str:
    """Return the text of a template in `foresail/templates/`; whatever it is given comes out escaped.

    Raises:
        jinja2.UndefinedError: the template names a value that it was not given.
    """
    return _environment().get_template(template).render(**values)


def write_page(path: Path, text: str, flag: str = "--html") -> None:
    """Write a page that a flag asked for, whole or not at all; an older one of that name is replaced.

    Raises:
        InputError: the file cannot be written.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise InputError(
            flag, path, f"name a file that can be written ({error.strerror})"
        ) from error


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - only pages need it

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "signed": signed_text,
        "cell": cell,
        "duration": duration,
    }
    environment.policies["json.dumps_kwargs"] = {"default": str}
    return environment
