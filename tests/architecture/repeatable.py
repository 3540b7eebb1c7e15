"""What makes two runs of decision code differ, found in syntax trees.

Float sums depend on order, sets on the hash seed, numpy's transcendental functions and BLAS on the
processor, folders on the file system, formats on the locale, ids on memory. The check knows names,
attributes and functions that are annotated as sets; it does not follow values further.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

SET_TYPES = re.compile(r"^(set|frozenset|Set|AbstractSet|MutableSet)\b")
SET_METHODS = {"union", "intersection", "difference", "symmetric_difference"}
ORDERLESS = {"sorted", "set", "frozenset", "len", "any", "all", "bool", "fsum", "min", "max"}
"""Calls whose result does not depend on the order of what they are given."""
ORDERED = {"list", "tuple", "enumerate", "iter", "next", "map", "filter", "zip", "reversed", "sum"}
ORDERED_METHODS = {"join", "fromkeys", "extend", "chain", "from_iterable", "OrderedDict", "Counter"}
INT_CALLS = {"len", "int", "round", "bool", "ord", "whole", "parse_whole", "millicores"}
NUMPY = {"np", "numpy"}
NUMPY_INEXACT = re.compile(
    r"^(exp|expm1|exp2|log|log1p|log2|log10|logaddexp2?|sin|cos|tan|arc\w+|sinh|cosh|tanh|hypot|power"
    r"|float_power|cbrt|i0|sinc|dot|vdot|inner|matmul|tensordot|einsum|linalg|convolve|correlate"
    r"|polyfit|interp|fft|random|sum|nansum|mean|nanmean|average|std|nanstd|var|nanvar|prod|trapezoid)$"
)
ARRAY_INEXACT = {"dot", "mean", "std", "var", "prod"}
UNSTABLE_ORDER = {"argsort", "argpartition", "partition"}
AMBIENT_MODULES = {
    "time",
    "secrets",
    "locale",
    "platform",
    "socket",
    "getpass",
    "threading",
    "tempfile",
}
FOLDER_READS = {"listdir", "scandir", "glob", "rglob", "iglob", "iterdir", "walk"}
LOCAL_FORMATS = re.compile(r"%[-_#]?[aAbBcxXpZ]")
LOCAL_NUMBER = re.compile(r"^[^%]*n$")
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.DictComp)


@dataclass
class SetNames:
    """Names that some annotation declares as a set, over all files under test."""

    attributes: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)

    def learn(self, tree: ast.Module) -> None:
        """Add the attributes and functions that a file declares."""
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and _is_set_type(node.returns):
                self.functions.add(node.name)
            elif isinstance(node, ast.ClassDef):
                self.attributes.update(
                    line.target.id
                    for line in node.body
                    if isinstance(line, ast.AnnAssign)
                    and isinstance(line.target, ast.Name)
                    and _is_set_type(line.annotation)
                )
            elif (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Attribute)
                and _is_set_type(node.annotation)
            ):
                self.attributes.add(node.target.attr)


def problems(tree: ast.Module, known: SetNames | None = None) -> Iterator[tuple[ast.AST, str]]:
    """Yield (node, what is wrong) of one file."""
    names = known or SetNames()
    names.learn(tree)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    sets = _Sets(tree, names, parents)
    numpy_used = any(name in NUMPY for name in _imported_names(tree))
    for node in ast.walk(tree):
        yield from ((node, text) for text in _of_imports(node))
        yield from ((node, text) for text in _of_sets(node, sets, parents))
        yield from ((node, text) for text in _of_numpy(node, numpy_used))
        if isinstance(node, ast.Call):
            yield from ((node, text) for text in _of_calls(node, parents))
        elif (
            isinstance(node, ast.FormattedValue)
            and node.format_spec is not None
            and _local_format(ast.unparse(node.format_spec)[2:-1])
        ):
            yield node, "a format that depends on the locale"


class _Sets:
    """Says whether an expression is a set, by what this file and annotations tell."""

    def __init__(self, tree: ast.Module, known: SetNames, parents: dict[ast.AST, ast.AST]) -> None:
        self._known = known
        self._parents = parents
        self._names: dict[ast.AST | None, set[str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.arg) and _is_set_type(node.annotation):
                self._scope(node).add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                if _is_set_type(node.annotation):
                    self._scope(node).add(node.target.id)
            elif isinstance(node, ast.Assign) and self.holds(node.value):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._scope(node).add(target.id)

    def holds(self, node: ast.AST) -> bool:
        """Whether this expression is a set."""
        match node:
            case ast.Set() | ast.SetComp():
                return True
            case ast.Name(id=name):
                return any(name in self._names.get(scope, ()) for scope in self._scopes(node))
            case ast.Attribute(attr=name):
                return name in self._known.attributes
            case ast.IfExp(body=one, orelse=other):
                return self.holds(one) or self.holds(other)
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.BitXor() | ast.Sub()):
                return self.holds(left) or _is_view(left) or self.holds(node.right)
            case ast.Call(func=ast.Name(id=name)):
                return name in {"set", "frozenset"} or name in self._known.functions
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                return name in self._known.functions or (name in SET_METHODS and self.holds(value))
        return False

    def _scopes(self, node: ast.AST) -> Iterator[ast.AST | None]:
        current: ast.AST | None = node
        while current is not None:
            if isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                yield current
            current = self._parents.get(current)
        yield None

    def _scope(self, node: ast.AST) -> set[str]:
        return self._names.setdefault(next(self._scopes(node)), set())


def _of_sets(node: ast.AST, sets: _Sets, parents: dict[ast.AST, ast.AST]) -> Iterator[str]:
    if isinstance(node, ast.For) and sets.holds(node.iter):
        yield "a loop over a set"
    elif isinstance(node, COMPREHENSIONS) and any(sets.holds(g.iter) for g in node.generators):
        parent = parents.get(node)
        used = _name_of(parent.func) if isinstance(parent, ast.Call) else ""
        keyed = isinstance(parent, ast.Call) and _has_key(parent)
        counted = used == "sum" and _whole(getattr(node, "elt", node))
        if keyed or not (used in ORDERLESS or counted):
            yield "a comprehension over a set"
    elif isinstance(node, ast.Starred) and sets.holds(node.value):
        if not isinstance(parents.get(node), ast.Set):
            yield "a set unpacked"
    elif isinstance(node, ast.Call) and any(sets.holds(argument) for argument in node.args):
        name = _name_of(node.func)
        if name in ORDERED | ORDERED_METHODS or (name in {"min", "max"} and _has_key(node)):
            yield f"a set given to {name}()"
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "pop"
        and not node.args
        and sets.holds(node.func.value)
    ):
        yield "any element of a set"


def _of_calls(node: ast.Call, parents: dict[ast.AST, ast.AST]) -> Iterator[str]:
    name = _name_of(node.func)
    if isinstance(node.func, ast.Name):
        if name == "sum" and not (node.args and _whole(node.args[0])):
            yield "sum() of what may be floats; use math.fsum"
        elif name in {"hash", "id"}:
            yield f"{name}() differs between runs"
    if name in FOLDER_READS and not _inside_sorted(node, parents):
        yield f"{name}() gives files in the file system's order; wrap it in sorted()"
    texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    if name in {"strftime", "format"} and any(_local_format(str(text)) for text in texts):
        yield "a format that depends on the locale"
    if name == "format" and isinstance(node.func, ast.Attribute):
        value = node.func.value
        if isinstance(value, ast.Constant) and re.search(r":[^{}]*n\}", str(value.value)):
            yield "a format that depends on the locale"


def _of_numpy(node: ast.AST, used: bool) -> Iterator[str]:
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
        yield "a matrix product (BLAS)"
    if not used or not isinstance(node, ast.Attribute):
        return
    of_numpy = isinstance(node.value, ast.Name) and node.value.id in NUMPY
    if of_numpy and NUMPY_INEXACT.match(node.attr):
        yield f"numpy's {node.attr} differs between processors"
    elif node.attr in ARRAY_INEXACT:
        yield f"an array's {node.attr} differs between processors"
    elif node.attr == "reduce":
        yield "numpy's reduce adds in an order of its own; use math.fsum"
    elif node.attr in UNSTABLE_ORDER:
        yield f"numpy's {node.attr} leaves the order of equals open"


def _of_imports(node: ast.AST) -> Iterator[str]:
    names: Iterable[str] = ()
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    for name in names:
        if name.split(".")[0] in AMBIENT_MODULES:
            yield f"{name} tells about this machine and moment"


def _imported_names(tree: ast.Module) -> set[str]:
    kinds = (ast.Import, ast.ImportFrom)
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, kinds)
        for alias in node.names
    }


def _whole(node: ast.AST) -> bool:
    """Whether an expression, or each element of it, is obviously an integer."""
    match node:
        case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
            return _whole(element)
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=values):
            return all(_whole(value) or isinstance(value, ast.Attribute) for value in values)
        case ast.Constant(value=value):
            return isinstance(value, int)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return _whole(left) and _whole(right)
        case ast.Call(func=function, args=arguments):
            name = _name_of(function)
            return name in INT_CALLS and not (name == "round" and len(arguments) > 1)
    return False


def _is_set_type(annotation: ast.AST | None) -> bool:
    return annotation is not None and bool(SET_TYPES.match(ast.unparse(annotation).strip("'\"")))


def _is_view(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name_of(node.func) in {"keys", "items"}


def _has_key(call: ast.Call) -> bool:
    return _name_of(call.func) in {"min", "max"} and any(k.arg == "key" for k in call.keywords)


def _inside_sorted(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    current: ast.AST | None = node
    while current is not None and not isinstance(current, ast.stmt):
        if isinstance(current, ast.Call) and _name_of(current.func) == "sorted":
            return True
        current = parents.get(current)
    return False


def _local_format(text: str) -> bool:
    return bool(LOCAL_FORMATS.search(text)) or bool(LOCAL_NUMBER.match(text) and len(text) <= 6)


def _name_of(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
