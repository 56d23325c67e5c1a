"""Compiles literals and variables, and the names of types."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from kapy.kube.cel.terms import Term
from kapy.kube.cel.tree import Literal, Name, Select, Tree
from kapy.kube.cel.types import DYN, SCALARS, Type, type_of
from kapy.kube.cel.values import TypeName, kind_of

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
