"""Compiles macros over lists and maps: all, exists, exists_one, map, filter …, and optMap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kapy.kube.cel.errors import CostExceeded, EvaluationError, no_such_overload
from kapy.kube.cel.terms import Frame, Run, Term, bound_cost
from kapy.kube.cel.tree import Call, Name, max_steps
from kapy.kube.cel.types import (
    BOOL,
    DYN,
    INT,
    Type,
    accepts,
    has_dyn,
    list_of,
    map_of,
    optional_of,
)
from kapy.kube.cel.values import NONE, Optional, kind_of, some

if TYPE_CHECKING:
    from kapy.kube.cel.compiler import Compiler

MACROS: Final = frozenset(
    (
        *(
            (name, count)
            for name in ("all", "exists", "exists_one", "existsOne")
            for count in (2, 3)
        ),
        ("filter", 2),
        ("map", 2),
        ("map", 3),
        *(
            (name, n)
            for name in ("transformList", "transformMap", "transformMapEntry")
            for n in (3, 4)
        ),
        ("optMap", 2),
        ("optFlatMap", 2),
    )
)
"""Member macros, by name and number of arguments."""

_STEP: Final = 3
"""The cost of each round beside that of its body."""

Rounds: TypeAlias = Callable[[Frame], Iterator[None]]
"""Goes through a range: each step sets the variables of one round."""


def macro_term(compiler: Compiler, tree: Call) -> Term:
    """Compile a macro call."""
    assert tree.target is not None
    over = compiler.term(tree.target)
    if tree.name in ("optMap", "optFlatMap"):
        return _optional(compiler, tree, over)
    names = _names(compiler, tree, 2 if _has_two(tree) else 1)
    types = _variables(compiler, tree, over.type, len(names))
    parts = tree.arguments[len(names) :]
    with compiler.within(names, types) as slots, compiler.loop():
        terms = [compiler.term(part) for part in parts]
    filtered = len(terms) > 1 or tree.name == "filter"
    for term, part in zip(terms, parts, strict=True):
        wants_bool = tree.name in _BOOLEAN_MACROS or (filtered and term is terms[0])
        if wants_bool and not accepts(BOOL, term.type, {}):
            raise compiler.problem(part.at, f"expected type 'bool' but found '{term.type}'")
    per_round = _STEP + sum(term.cost for term in terms)
    cost = bound_cost(over.cost + 1 + over.max_size * per_round)
    rounds = _rounds(over.run, slots, _STEP + sum(map(max_steps, parts)))
    condition = _boolean_predicate(terms[0]) if len(terms) > 1 else None
    body = (
        _boolean_predicate(terms[-1])
        if tree.name in (*_BOOLEAN_MACROS, "filter")
        else terms[-1].run
    )
    if tree.name == "filter":
        first = slots[0]
        run = _map(rounds, body, lambda frame: frame[first])
        return Term(_filter_type(over.type, types[0]), run, cost)
    if tree.name == "transformMap":
        run = _transform_map(rounds, condition, body, slots[0])
    else:
        run = _MAKERS[tree.name](rounds, condition, body)
    return Term(_result(tree.name, over.type, types, terms[-1].type), run, cost)


_BOOLEAN_MACROS: Final = ("all", "exists", "exists_one", "existsOne")


def _has_two(tree: Call) -> bool:
    if tree.name.startswith("transform"):
        return True
    return tree.name in _BOOLEAN_MACROS and len(tree.arguments) == 3


def _names(compiler: Compiler, tree: Call, count: int) -> tuple[str, ...]:
    names = []
    for argument in tree.arguments[:count]:
        if not isinstance(argument, Name):
            raise compiler.problem(argument.at, "argument must be a simple name")
        names.append(argument.name)
    return tuple(names)


def _variables(compiler: Compiler, tree: Call, over: Type, count: int) -> tuple[Type, ...]:
    """Return the types of the loop variables of a macro. over: the type of the list or map."""
    if over.name == "list":
        return (INT, over.item) if count == 2 else (over.item,)
    if over.name == "map":
        return over.parameters if count == 2 else over.parameters[:1]
    if has_dyn(over):
        return (DYN,) * count
    assert tree.target is not None
    text = (
        f"expression of type '{over}' cannot be range of a comprehension "
        "(must be list, map, or dynamic)"
    )
    raise compiler.problem(tree.target.at, text)


def _filter_type(over: Type, item: Type) -> Type:
    return list_of(item, over.max_size)


def _result(name: str, over: Type, types: tuple[Type, ...], body: Type) -> Type:
    if name in _BOOLEAN_MACROS:
        return BOOL
    if name in ("map", "transformList"):
        return list_of(body, over.max_size)
    if name == "transformMap":
        return map_of(types[0], body, over.max_size)
    return body if body.name == "map" else DYN


def _boolean_predicate(term: Term) -> Run:
    inner = term.run
    if term.type.name == "bool":
        return inner

    def run(frame: Frame) -> bool:
        value = inner(frame)
        if value is True or value is False:
            return value
        raise no_such_overload()

    return run


def _rounds(over: Run, slots: tuple[int, ...], cost: int) -> Rounds:
    """Return a function that iterates over the items and sets the loop variables. cost: the cost
    charged per iteration, in addition to the body's own charges.
    """

    def single(frame: Frame) -> Iterator[None]:
        (slot,) = slots
        for item in _range(over(frame)):
            frame[0] -= cost
            if frame[0] < 0:
                raise CostExceeded
            frame[slot] = item
            yield

    def double(frame: Frame) -> Iterator[None]:
        first, second = slots
        value = over(frame)
        pairs = value.items() if isinstance(value, dict) else enumerate(_range(value))
        for key, item in pairs:
            frame[0] -= cost
            if frame[0] < 0:
                raise CostExceeded
            frame[first], frame[second] = key, item
            yield

    return single if len(slots) == 1 else double


def _range(value: Any) -> Any:
    if isinstance(value, (list, dict)):
        return value
    raise no_such_overload()


def _short_circuit(rounds: Rounds, body: Run, *, by: bool) -> Run:
    """Return a closure that runs `all` or `exists`, which stop at the first false or true; an error
    is raised only if no item decides.
    """

    decides: bool = by

    def run(frame: Frame) -> bool:
        waiting: EvaluationError | None = None
        for _ in rounds(frame):
            try:
                if body(frame) is decides:
                    return bool(decides)
            except CostExceeded:
                raise
            except EvaluationError as error:
                waiting = error
        if waiting is not None:
            raise waiting
        return not decides

    return run


def _all(rounds: Rounds, _: Run | None, body: Run) -> Run:
    return _short_circuit(rounds, body, by=False)


def _exists(rounds: Rounds, _: Run | None, body: Run) -> Run:
    return _short_circuit(rounds, body, by=True)


def _exists_one(rounds: Rounds, _: Run | None, body: Run) -> Run:
    return lambda frame: [body(frame) for _ in rounds(frame)].count(True) == 1


def _map(rounds: Rounds, condition: Run | None, body: Run) -> Run:
    if condition is None:
        return lambda frame: [body(frame) for _ in rounds(frame)]
    return lambda frame: [body(frame) for _ in rounds(frame) if condition(frame)]


def _transform_map(rounds: Rounds, condition: Run | None, body: Run, key: int) -> Run:
    def run(frame: Frame) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for _ in rounds(frame):
            if condition is None or condition(frame):
                result[frame[key]] = body(frame)
        return result

    return run


def _transform_entry(rounds: Rounds, condition: Run | None, body: Run) -> Run:
    def run(frame: Frame) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for _ in rounds(frame):
            if condition is not None and not condition(frame):
                continue
            entry = body(frame)
            if kind_of(entry) != "map":
                raise no_such_overload()
            for key, value in entry.items():
                if key in result:
                    raise EvaluationError(f"insert failed: key {key} already exists")
                result[key] = value
        return result

    return run


_MAKERS: Final[dict[str, Callable[[Rounds, Run | None, Run], Run]]] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "map": _map,
    "transformList": _map,
    "transformMapEntry": _transform_entry,
}


def _optional(compiler: Compiler, tree: Call, over: Term) -> Term:
    """Compile `optional.optMap(x, e)`: evaluate e if the optional has a value."""
    names = _names(compiler, tree, 1)
    if not (has_dyn(over.type) or over.type.name == "optional_type"):
        text = f"expected type 'optional_type' but found '{over.type}'"
        raise compiler.problem(tree.at, text)
    inner = over.type.item if over.type.parameters else DYN
    with compiler.within(names, (inner,)) as (slot,):
        body = compiler.term(tree.arguments[1])
    flat = tree.name == "optFlatMap"
    source, compute = over.run, body.run

    def run(frame: Frame) -> Optional:
        held = source(frame)
        if not isinstance(held, Optional):
            raise no_such_overload()
        if not held.present:
            return NONE
        frame[slot] = held.inner
        value = compute(frame)
        if not flat:
            return some(value)
        assert isinstance(value, Optional)
        return value

    kind = body.type if flat else optional_of(body.type)
    return Term(kind, run, bound_cost(over.cost + body.cost + 1))
