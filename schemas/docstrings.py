"""Docstrings of a model's fields, for published schemas and generated pages.

Pydantic would read it itself (`use_attribute_docstrings`), but while it defines a class, that is in
every process at every start; a fifth of the time that a service needed to start went there.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue


def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring of each documented field, inherited ones included.

    A field of a model that was made without a class statement (one field per agent, say) carries its
    text as `description`.
    """
    texts = {
        name: model_field.description
        for name, model_field in model.model_fields.items()
        if model_field.description
    }
    for kind in reversed(model.__mro__):
        if issubclass(kind, BaseModel) and kind is not BaseModel:
            texts |= _docstrings(kind)
    return {name: text for name, text in texts.items() if name in model.model_fields}


@cache
def _docstrings(kind: type[BaseModel]) -> dict[str, str]:
    try:
        source = inspect.getsource(kind)
    except OSError:  # made by pydantic.create_model
        return {}
    (tree,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(tree, ast.ClassDef)
    texts: dict[str, str] = {}
    field = ""
    for statement in tree.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                field = name
            case ast.Expr(value=ast.Constant(value=str(text))) if field:
                texts[field] = inspect.cleandoc(text)
                field = ""
            case _:
                field = ""
    return texts


class DescribedJsonSchema(GenerateJsonSchema):
    """JSON Schemas whose properties carry their docstrings as `description`."""

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        """Return the JSON Schema of one model."""
        described = super().model_schema(schema)
        texts = field_docstrings(schema["cls"])
        for name, property_schema in described.get("properties", {}).items():
            if name in texts:
                property_schema.setdefault("description", texts[name])
        return described

    def tagged_union_schema(self, schema: Any) -> JsonSchemaValue:
        """Return the JSON Schema of a union; without `discriminator`, an object in OpenAPI alone."""
        described = super().tagged_union_schema(schema)
        described.pop("discriminator", None)
        return described
