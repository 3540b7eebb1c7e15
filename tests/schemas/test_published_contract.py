"""The generated contract: it is what the models say, and public validators accept it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schemas.actions import BaseAction
from schemas.baseline_fields import BASELINE_FIELDS
from schemas.export import generated_files, json_schema
from schemas.model import DataModel
from schemas.registry import EVENT_TYPES
from tests.patience import HANGS_SECONDS

ROOT = Path(__file__).parents[2]
CHECKER = Path(__file__).parent / "asyncapi"


def test_every_generated_file_is_what_the_models_say() -> None:
    """Nobody edits generated files, and nobody changes a model without publishing it."""
    generated = generated_files()
    others = ("schemas/exported/asyncapi.json", "docs/events.md", "docs/baseline-fields.md")
    schemas = {Path("schemas/exported") / f"{kind.TYPE}.json" for kind in EVENT_TYPES}
    stored = {path: (ROOT / path).read_text(encoding="utf-8") for path in generated}

    assert schemas | set(map(Path, others)) == set(generated)
    assert [path for path in generated if generated[path] != stored[path]] == [], (
        "run `python -m schemas.export`"
    )


def test_every_json_schema_is_valid() -> None:
    """Every exported schema is a valid JSON Schema of its dialect."""
    for kind in EVENT_TYPES:
        Draft202012Validator.check_schema(json_schema(kind))


def test_the_asyncapi_document_is_valid() -> None:
    """The AsyncAPI project's own parser finds no error in the document."""
    node = shutil.which("node")
    if node is None or not (CHECKER / "node_modules").is_dir():
        pytest.skip(
            "needs node and `npm install` in tests/schemas/asyncapi (make test does it where npm is)"
        )
    done = subprocess.run(
        [node, "validate.mjs", str(ROOT / "schemas/exported/asyncapi.json")],
        cwd=CHECKER,
        capture_output=True,
        text=True,
        timeout=HANGS_SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_baseline_field_points_at_a_field_that_exists() -> None:
    """The table from the baseline's fields to ours names only fields of our models, or says why there
    is none.
    """
    models = {kind.TYPE: kind for kind in EVENT_TYPES}
    for field in BASELINE_FIELDS:
        event_type, _, path = field.path.partition(":")
        if not event_type:
            assert field.note, field.baseline
            continue
        model: Any = models[event_type]
        for name in path.split("."):
            if name == "parameters" and issubclass(model, BaseAction):
                break  # what each kind of action has of its own is stored there
            assert name in model.model_fields, f"{field.baseline}: no {name} in {model.__name__}"
            model = _inner(model.model_fields[name].annotation)


def test_every_type_says_what_it_is() -> None:
    """Each model of an event and each of its fields can be explained from the schema alone."""
    for kind in EVENT_TYPES:
        schema = json_schema(kind)
        assert schema["description"]
        assert json.dumps(schema).count("additionalProperties") >= 1


def _inner(annotation: Any) -> Any:
    """Return the model within an annotation such as `tuple[Model, ...]` or `Model | None`."""
    for option in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(option, type) and issubclass(option, DataModel):
            return option
    return annotation
