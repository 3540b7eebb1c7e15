"""Where models are found: by the name of a shipped one, by its id, or by a folder.

Inference reads whole models, the agents only the thresholds in the manifest; both name a model in
the same words, so that one setting serves both.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bus.errors import InputError
from inputs.limited_files import read_text_limited
from inputs.limited_json import BadJson, load_json
from schemas.manifest import MANIFEST_FILE, ModelManifest, content_version

MANIFEST_BYTES = 4 * 1024**2
"""Bytes of a manifest; one of a thousand features has about a hundred thousand."""
MANIFEST_DEPTH = 32
"""Lists and objects inside one another."""
SHIPPED = Path(__file__).parent / "inference" / "shipped"
"""Folder of the models that come with Foresail, one folder each."""


def folder_of(reference: str) -> Path:
    """Return a model's folder.

    Args:
        reference: the name of a shipped model, `<name>/<version>` of one, or a folder.

    Raises:
        InputError: it is neither a folder nor a shipped model of that version.
    """
    name, _, version = reference.partition("/")
    shipped = SHIPPED / name
    is_shipped = bool(name) and (shipped / MANIFEST_FILE).is_file()
    if is_shipped and version in {"", read_manifest(shipped).version}:
        return shipped
    folder = Path(reference)
    if folder.is_dir():
        return folder
    known = ", ".join(shipped_names()) or "none is shipped"
    raise InputError("model", reference, f"name a model's folder, or a shipped model ({known})")


def model_id_of(reference: str) -> str:
    """Return a model's id; what names no trained model (a formula, nothing) is its own id.

    Raises:
        InputError: its manifest cannot be used.
    """
    try:
        folder = folder_of(reference) if reference else None
    except InputError:
        return reference
    return reference if folder is None else read_manifest(folder).model_id


def shipped_names() -> list[str]:
    """Return the names of the shipped models, sorted."""
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{MANIFEST_FILE}"))


def read_manifest(folder: Path) -> ModelManifest:
    """Return the manifest in `folder`; the files that it names are not looked at.

    Raises:
        InputError: it is missing, is no manifest, has another format, or was edited.
    """
    field = f"{folder.name}/{MANIFEST_FILE}"
    return _manifest(_text(folder / MANIFEST_FILE, field), field)


def _text(path: Path, field: str) -> str:
    try:
        return read_text_limited(path, MANIFEST_BYTES)
    except OSError as error:
        remedy = f"name a model directory ({error.strerror})"
        raise InputError(field, "cannot be read", remedy) from error
    except ValueError as error:
        raise InputError(field, "no text", str(error)) from error


@lru_cache(maxsize=16)
def _manifest(text: str, field: str) -> ModelManifest:
    content = _content(text, field)
    if content.get("format") != ModelManifest.FORMAT:
        remedy = f"this version reads format {ModelManifest.FORMAT}; train the model again"
        raise InputError(f"{field} format", content.get("format"), remedy)
    try:
        manifest = ModelManifest.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{field} {where}".rstrip(), first["input"], first["msg"]) from error
    stored_version = content_version(content)
    if manifest.version != stored_version:
        remedy = (
            f"its content has the version {stored_version}; it was edited, so train the model again"
        )
        raise InputError(f"{field} version", manifest.version, remedy)
    return manifest


def _content(text: str, field: str) -> dict[str, Any]:
    try:
        content = load_json(text, deepest=MANIFEST_DEPTH)
    except BadJson as error:
        raise InputError(field, "no JSON", f"train the model again ({error})") from error
    if not isinstance(content, dict):
        raise InputError(field, "no JSON object", "train the model again")
    return content
