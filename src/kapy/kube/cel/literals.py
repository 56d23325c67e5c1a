"""Compiles literals, names of variables and types, lists (`[a, ?b]`), and maps (`{k: v}`)."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.terms import Frame, Run, Term, bound_cost
from kapy.kube.cel.tree import ListOf, Literal, MapOf, Name, Select, Tree
from kapy.kube.cel.types import DYN, SCALARS, Type, accepts, has_dyn, list_of, map_of, type_of
from kapy.kube.cel.values import KEYS, NONE, TypeName, kind_of, unwrap

if TYPE_CHECKING:
    from kapy.kube.cel.compiler import Compiler


_TYPE_WORDS: Final = {
    **{name: TypeName(name) for name in SCALARS if name not in ("dyn", "timestamp", "duration")},
    "list": TypeName("list"),
    "map": TypeName("map"),
    "type": TypeName("type"),
    "optional_type": TypeName("optional_type"),
    "net.IP": TypeName("net.IP"),
    "net.CIDR": TypeName("net.CIDR"),
    "google.protobuf.Timestamp": TypeName("google.protobuf.Timestamp"),
    "google.protobuf.Duration": TypeName("google.protobuf.Duration"),
    "kubernetes.URL": TypeName("kubernetes.URL"),
    "kubernetes.Quantity": TypeName("kubernetes.Quantity"),
}

NAMESPACES: Final = ("optional", "sets", "strings", "format", "ip", "math")


def literal_term(_: Compiler, tree: Literal) -> Term:
    value = tree.value
    kind = SCALARS[kind_of(value)]
    if isinstance(value, (str, bytes)):
        kind = Type(kind.name, max_size=len(value), min_size=2)
    return Term(kind, lambda _: value, constant=True)


def name_term(compiler: Compiler, tree: Name) -> Term:
    entry = compiler.lookup(tree.name)
    if entry is not None:
        kind, slot = entry
        return Term(kind, itemgetter(slot), 1)
    word = type_word(tree.name)
    if word is not None:
        return constant(type_of(DYN), word)
    raise compiler.problem(tree.at, f"undeclared reference to '{tree.name}' (in container '')")


def constant(kind: Type, value: Any) -> Term:
    return Term(kind, lambda _: value, constant=True)


def qualified_name(tree: Tree) -> str:
    """Return `a.b.c` for a chain of names, "" for any other expression."""
    if isinstance(tree, Name):
        return tree.name
    if isinstance(tree, Select) and not tree.optional:
        before = qualified_name(tree.operand)
        return f"{before}.{tree.field}" if before else ""
    return ""


def type_word(name: str) -> TypeName | None:
    """Return the type with this name, as in `type(x) == int`; None if there is none."""
    return _TYPE_WORDS.get(name)


def list_term(compiler: Compiler, tree: ListOf, *, mixed: bool = False) -> Term:
    kind: Type | None = None
    parts: list[tuple[Run, bool]] = []
    cost = 10
    for item, optional in tree.items:
        term = compiler.term(item)
        item_type = term.type.item if optional and term.type.name == "optional_type" else term.type
        kind = DYN if mixed else _common_type(compiler, item.at, kind, item_type)
        parts.append((term.run, optional))
        cost += term.cost
    result = list_of(kind or DYN, len(parts))
    if not any(optional for _, optional in parts):
        runs = [run for run, _ in parts]
        return Term(result, lambda frame: [run(frame) for run in runs], bound_cost(cost))

    def run(frame: Frame) -> list[Any]:
        values = ((run(frame), optional) for run, optional in parts)
        return [
            unwrap(value) if optional else value
            for value, optional in values
            if not (optional and unwrap(value) is NONE)
        ]

    return Term(result, run, bound_cost(cost))


def _common_type(compiler: Compiler, at: int, kind: Type | None, item: Type) -> Type:
    """Return the common type of the previous items and the next one. Raises CompileError if they
    differ.
    """
    if kind is None or has_dyn(kind):
        return item if kind is None else kind
    if not accepts(kind, item, {}):
        raise compiler.problem(at, f"expected type '{kind}' but found '{item}'")
    return DYN if has_dyn(item) else kind


def map_term(compiler: Compiler, tree: MapOf) -> Term:
    key_kind: Type | None = None
    kind: Type | None = None
    parts: list[tuple[Run, Run, bool]] = []
    cost = 30
    for key, value, optional in tree.entries:
        key_term, term = compiler.term(key), compiler.term(value)
        value_type = term.type.item if optional and term.type.name == "optional_type" else term.type
        key_kind = _common_type(compiler, key.at, key_kind, key_term.type)
        kind = _common_type(compiler, value.at, kind, value_type)
        parts.append((key_term.run, term.run, optional))
        cost += key_term.cost + term.cost

    def run(frame: Frame) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, value, optional in parts:
            name, inner = key(frame), value(frame)
            if kind_of(name) not in KEYS:
                raise EvaluationError("unsupported key type")
            if optional and unwrap(inner) is NONE:
                continue
            if name in result:
                raise EvaluationError(f"Failed with repeated key: {name}")
            result[name] = unwrap(inner) if optional else inner
        return result

    result = map_of(key_kind or DYN, kind or DYN, len(parts))
    return Term(result, run, bound_cost(cost))
