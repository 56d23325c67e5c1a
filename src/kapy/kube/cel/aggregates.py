"""Lists and maps that an expression makes: `[a, ?b]`, `{k: v}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.terms import Frame, Run, Term, bounded
from kapy.kube.cel.tree import ListOf, MapOf
from kapy.kube.cel.types import DYN, Type, accepts, has_dyn, list_of, map_of
from kapy.kube.cel.values import KEYS, NONE, held, kind_of

if TYPE_CHECKING:
    from kapy.kube.cel.compiler import Compiler


def list_term(compiler: Compiler, tree: ListOf, *, mixed: bool = False) -> Term:
    kind: Type | None = None
    parts: list[tuple[Run, bool]] = []
    cost = 10
    for item, optional in tree.items:
        one = compiler.term(item)
        given = one.type.item if optional and one.type.name == "optional_type" else one.type
        kind = DYN if mixed else _common(compiler, item.at, kind, given)
        parts.append((one.run, optional))
        cost += one.cost
    result = list_of(kind or DYN, len(parts))
    if not any(optional for _, optional in parts):
        runs = [run for run, _ in parts]
        return Term(result, lambda frame: [run(frame) for run in runs], bounded(cost))

    def run(frame: Frame) -> list[Any]:
        values = ((run(frame), optional) for run, optional in parts)
        return [
            held(value) if optional else value
            for value, optional in values
            if not (optional and held(value) is NONE)
        ]

    return Term(result, run, bounded(cost))


def _common(compiler: Compiler, at: int, kind: Type | None, given: Type) -> Type:
    """The type of items so far and one more: all of them must have one type."""
    if kind is None or has_dyn(kind):
        return given if kind is None else kind
    if not accepts(kind, given, {}):
        raise compiler.problem(at, f"expected type '{kind}' but found '{given}'")
    return DYN if has_dyn(given) else kind


def map_term(compiler: Compiler, tree: MapOf) -> Term:
    key_kind: Type | None = None
    kind: Type | None = None
    parts: list[tuple[Run, Run, bool]] = []
    cost = 30
    for key, value, optional in tree.entries:
        key_term, one = compiler.term(key), compiler.term(value)
        given = one.type.item if optional and one.type.name == "optional_type" else one.type
        key_kind = _common(compiler, key.at, key_kind, key_term.type)
        kind = _common(compiler, value.at, kind, given)
        parts.append((key_term.run, one.run, optional))
        cost += key_term.cost + one.cost

    def run(frame: Frame) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, value, optional in parts:
            name, inner = key(frame), value(frame)
            if kind_of(name) not in KEYS:
                raise EvaluationError("unsupported key type")
            if optional and held(inner) is NONE:
                continue
            if name in result:
                raise EvaluationError(f"Failed with repeated key: {name}")
            result[name] = held(inner) if optional else inner
        return result

    result = map_of(key_kind or DYN, kind or DYN, len(parts))
    return Term(result, run, bounded(cost))
