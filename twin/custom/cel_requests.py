"""Expressions in CEL about requests: variables without types, as of objects of any kind."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from twin.custom.cel import MISSING, RuleError, bare, extensions


@lru_cache(maxsize=512)
def compile_expression(
    text: str, names: tuple[str, ...], types: tuple[tuple[str, str], ...] = ()
) -> Any:
    """Compile an expression over variables of any type, and over those of `types`; raises RuleError."""
    try:
        return _environment(names, types).compile(text)
    except ImportError as error:
        raise RuleError(MISSING) from error
    except RuntimeError as error:
        raise RuleError(f"compilation failed: {bare(str(error))}") from error


def result_type(program: Any) -> str:
    """Return the name of the type of an expression's result, such as BOOL; DYN where it is open."""
    return str(program.return_type())


def evaluate(program: Any, values: dict[str, Any]) -> Any:
    """Return the result of an expression; raises RuleError."""
    try:
        result = program.eval(data=values)
    except RuntimeError as error:
        raise RuleError(bare(str(error))) from error
    if result.type().name() == "*error*" or str(result.type()) == "ERROR":
        raise RuleError(bare(str(result.plain_value())))
    return result.plain_value()


@lru_cache(maxsize=64)
def _environment(names: tuple[str, ...], types: tuple[tuple[str, str], ...]) -> Any:
    from cel_expr_python import cel  # noqa: PLC0415 - see twin.custom.cel

    own = {
        "bool": cel.Type.BOOL,
        "string": cel.Type.STRING,
        "int": cel.Type.INT,
        "double": cel.Type.DOUBLE,
    }
    variables = dict.fromkeys(names, cel.Type.DYN)
    variables |= {name: own.get(kind, cel.Type.DYN) for name, kind in types}
    return cel.NewEnv(variables=variables, extensions=extensions(cel))
