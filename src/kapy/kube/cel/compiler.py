"""From a syntax tree to Python closures, checking types on the way as cel-go's checker does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from kapy.kube.cel.costs import call_cost, call_size
from kapy.kube.cel.equality import comparison, joined, reading
from kapy.kube.cel.errors import CompileError, CostExceeded, EvaluationError, no_such_overload
from kapy.kube.cel.folds import MACROS, fold
from kapy.kube.cel.functions import library
from kapy.kube.cel.functions.regexes import regex
from kapy.kube.cel.functions.times import duration, timestamp
from kapy.kube.cel.parser import parse
from kapy.kube.cel.terms import Frame, Run, Term, bounded
from kapy.kube.cel.tree import Call, Index, ListOf, Literal, MapOf, Name, Select, Tree
from kapy.kube.cel.types import (
    BOOL,
    DYN,
    INT,
    SCALARS,
    Type,
    accepts,
    has_dyn,
    list_of,
    map_of,
    optional_of,
    type_of,
)
from kapy.kube.cel.values import KEYS, NONE, NUMBERS, Optional, TypeName, kind_of, some

DEFAULT_LIMIT: Final = 1_000_000
"""What one run may cost."""

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
_NAMESPACES: Final = ("optional", "sets", "strings", "format", "ip", "math")


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression. cost: the most that it may cost. uses: variables that it reads."""

    type: Type
    cost: int
    uses: frozenset[str]
    _run: Run
    _slots: int

    def run(self, *values: Any, limit: int = DEFAULT_LIMIT) -> tuple[Any, int]:
        """The value for the given variables (in their order), and what is left of `limit`.

        Raises EvaluationError; CostExceeded when it takes longer than allowed.
        """
        frame: Frame = [limit - 1, *values, *([None] * self._slots)]
        return self._run(frame), frame[0]


def compiled(source: str, variables: Mapping[str, Type]) -> Program:
    """The program of an expression. Raises CompileError."""
    compiler = Compiler(source, variables)
    term = compiler.term(parse(source))
    return Program(term.type, term.cost, frozenset(compiler.used), term.run, compiler.slots)


class Compiler:
    """Compiles one expression; knows which variables are in sight."""

    def __init__(self, source: str, variables: Mapping[str, Type]) -> None:
        self.source = source
        self.used: set[str] = set()
        self.slots = 0
        self._given = len(variables)
        self._scope = {name: (one, slot) for slot, (name, one) in enumerate(variables.items(), 1)}
        self._readable = set(variables)

    def problem(self, at: int, text: str) -> CompileError:
        """That the expression is wrong at a place."""
        return CompileError(text, self.source, at)

    def term(self, tree: Tree) -> Term:
        """The compiled form of any part."""
        return _TERMS[type(tree)](self, tree)

    def within(self, names: tuple[str, ...], types: tuple[Type, ...]) -> _Scope:
        """A scope with more variables; gives their slots."""
        return _Scope(self, names, types)

    def push(self, names: tuple[str, ...], types: tuple[Type, ...]) -> tuple[int, ...]:
        slots = []
        for name, one in zip(names, types, strict=True):
            self.slots += 1
            slot = self._given + self.slots
            slots.append(slot)
            self._scope[name] = (one, slot)
        return tuple(slots)

    @property
    def scope(self) -> dict[str, tuple[Type, int]]:
        return self._scope

    def restore(self, scope: dict[str, tuple[Type, int]]) -> None:
        self._scope = scope

    def found(self, name: str) -> tuple[Type, int] | None:
        """A variable's type and slot."""
        one = self._scope.get(name)
        if one is not None and one[1] <= self._given:
            self.used.add(name)
        return one


class _Scope:
    """The time in which variables of a comprehension are in sight."""

    def __init__(self, compiler: Compiler, names: tuple[str, ...], types: tuple[Type, ...]) -> None:
        self._compiler, self._names, self._types = compiler, names, types

    def __enter__(self) -> tuple[int, ...]:
        self._before = dict(self._compiler.scope)
        return self._compiler.push(self._names, self._types)

    def __exit__(self, *_: object) -> None:
        self._compiler.restore(self._before)


def _literal(_: Compiler, tree: Literal) -> Term:
    value = tree.value
    kind = SCALARS[kind_of(value)]
    if isinstance(value, (str, bytes)):
        kind = Type(kind.name, most=len(value), least=2)
    return Term(kind, lambda _: value, constant=True)


def _name(compiler: Compiler, tree: Name) -> Term:
    found = compiler.found(tree.name)
    if found is not None:
        kind, slot = found
        return Term(kind, itemgetter(slot), 1)
    word = _TYPE_WORDS.get(tree.name)
    if word is not None:
        return _constant(type_of(DYN), word)
    raise compiler.problem(tree.at, f"undeclared reference to '{tree.name}' (in container '')")


def _constant(kind: Type, value: Any) -> Term:
    return Term(kind, lambda _: value, constant=True)


def _select(compiler: Compiler, tree: Select) -> Term:
    qualified = _qualified(tree)
    if qualified in _TYPE_WORDS and compiler.found(qualified.partition(".")[0]) is None:
        return _constant(type_of(DYN), _TYPE_WORDS[qualified])
    operand = compiler.term(tree.operand)
    lenient = tree.optional or operand.type.name == "optional_type"
    if lenient:
        return _optional_member(compiler, tree.at, operand, tree.field)
    return _member(compiler, tree.at, operand, tree.field)


def _qualified(tree: Tree) -> str:
    """`a.b.c` for a chain of names, "" for anything else."""
    if isinstance(tree, Name):
        return tree.name
    if isinstance(tree, Select) and not tree.optional:
        before = _qualified(tree.operand)
        return f"{before}.{tree.field}" if before else ""
    return ""


def _field(compiler: Compiler, at: int, kind: Type, field: str) -> tuple[Type, str]:
    """The type of a member, and its key in the document."""
    if kind.name == "object":
        found = kind.fields.get(field)
        if found is None:
            raise compiler.problem(at, f"undefined field '{field}'")
        return found.type, found.name
    if kind.name == "map":
        return kind.item, field
    if has_dyn(kind):
        return DYN, field
    raise compiler.problem(at, f"type '{kind}' does not support field selection")


def _member(compiler: Compiler, at: int, operand: Term, field: str) -> Term:
    kind, key = _field(compiler, at, operand.type, field)
    read = reading(kind) if operand.type.name == "object" else None
    run = operand.run

    def select(frame: Frame) -> Any:
        try:
            return run(frame)[key]
        except (KeyError, TypeError, IndexError):
            raise _no_member(run(frame), key) from None

    def select_and_read(frame: Frame) -> Any:
        return read(select(frame)) if read is not None else None

    return Term(kind, select_and_read if read else select, bounded(operand.cost + 1))


def _no_member(value: Any, key: str) -> EvaluationError:
    if value is None or isinstance(value, dict):
        return EvaluationError(f"no such key: {key}")
    return no_such_overload()


def _inner(value: Any) -> Any:
    """What an optional holds; NONE when it holds nothing."""
    if isinstance(value, Optional):
        return value.inner if value.present else NONE
    return value


def _optional_member(compiler: Compiler, at: int, operand: Term, field: str) -> Term:
    inner = operand.type.item if operand.type.name == "optional_type" else operand.type
    kind, key = _field(compiler, at, inner, field)
    read = (reading(kind) if inner.name == "object" else None) or (lambda value: value)
    run = operand.run

    def select(frame: Frame) -> Optional:
        value = _inner(run(frame))
        if isinstance(value, dict) and key in value:
            return some(read(value[key]))
        if isinstance(value, dict) or value is NONE or value is None:
            return NONE
        raise no_such_overload()

    return Term(optional_of(kind), select, bounded(operand.cost + 1))


def _has(compiler: Compiler, tree: Call) -> Term:
    (asked,) = tree.arguments
    if not isinstance(asked, Select):
        raise compiler.problem(tree.at, "invalid argument to has() macro")
    operand = compiler.term(asked.operand)
    kind = operand.type.item if operand.type.name == "optional_type" else operand.type
    _, key = _field(compiler, asked.at, kind, asked.field)
    run = operand.run
    if kind.name == "object" and kind is operand.type:

        def of_object(frame: Frame) -> bool:
            value = run(frame)
            return value is not None and key in value

        return Term(BOOL, of_object, operand.cost)

    def test(frame: Frame) -> bool:
        value = _inner(run(frame))
        if isinstance(value, dict) or value is None:
            return key in (value or ())
        if value is NONE:
            return False
        raise no_such_overload()

    return Term(BOOL, test, operand.cost)


def _index(compiler: Compiler, tree: Index) -> Term:
    operand, key = compiler.term(tree.operand), compiler.term(tree.key)
    chained = operand.type.name == "optional_type"
    kind = operand.type.item if chained else operand.type
    match kind.name:
        case "list":
            wanted, result = INT, kind.item
        case "map":
            wanted, result = kind.parameters
        case "dyn":
            wanted, result = DYN, DYN
        case _:
            raise _no_overload(compiler, tree.at, "_[_]", [operand.type, key.type])
    if not accepts(wanted, key.type, {}) and not _is_number(wanted, key.type):
        raise _no_overload(compiler, tree.at, "_[_]", [operand.type, key.type])
    cost = bounded(operand.cost + key.cost + 1)
    run, at = operand.run, key.run
    if tree.optional or chained:
        return Term(optional_of(result), lambda frame: _looked_up(run(frame), at(frame)), cost)
    return Term(result, lambda frame: _item(run(frame), at(frame)), cost)


def _is_number(wanted: Type, given: Type) -> bool:
    return wanted.name == "int" and given.name in ("uint", "double")


def _item(value: Any, key: Any) -> Any:
    if isinstance(value, list):
        index = _position(key)
        if not 0 <= index < len(value):
            raise EvaluationError(f"index out of bounds: {index}")
        return value[index]
    if not isinstance(value, dict) or kind_of(key) not in KEYS:
        raise no_such_overload()
    if key not in value:
        raise EvaluationError(f"no such key: {key}")
    return value[key]


def _position(key: Any) -> int:
    """A list's index, which may be any number that is whole."""
    if kind_of(key) not in NUMBERS or (isinstance(key, float) and not key.is_integer()):
        raise no_such_overload()
    return int(key)


def _looked_up(value: Any, key: Any) -> Optional:
    value = _inner(value)
    if isinstance(value, list):
        index = _position(key)
        return some(value[index]) if 0 <= index < len(value) else NONE
    if isinstance(value, dict) and kind_of(key) in KEYS:
        return some(value[key]) if key in value else NONE
    if value is NONE or value is None:
        return NONE
    raise no_such_overload()


def _no_overload(
    compiler: Compiler, at: int, name: str, types: list[Type], *, member: bool = False
) -> CompileError:
    target = f"{types[0]}." if member else ""
    given = ", ".join(str(one) for one in (types[1:] if member else types))
    text = f"found no matching overload for '{name}' applied to '{target}({given})'"
    return compiler.problem(at, text)


def _list(compiler: Compiler, tree: ListOf, *, mixed: bool = False) -> Term:
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
            _inner(value) if optional else value
            for value, optional in values
            if not (optional and _inner(value) is NONE)
        ]

    return Term(result, run, bounded(cost))


def _common(compiler: Compiler, at: int, kind: Type | None, given: Type) -> Type:
    """The type of items so far and one more: all of them must have one type."""
    if kind is None or has_dyn(kind):
        return given if kind is None else kind
    if not accepts(kind, given, {}):
        raise compiler.problem(at, f"expected type '{kind}' but found '{given}'")
    return DYN if has_dyn(given) else kind


def _map(compiler: Compiler, tree: MapOf) -> Term:
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
            if optional and _inner(inner) is NONE:
                continue
            if name in result:
                raise EvaluationError(f"Failed with repeated key: {name}")
            result[name] = _inner(inner) if optional else inner
        return result

    result = map_of(key_kind or DYN, kind or DYN, len(parts))
    return Term(result, run, bounded(cost))


def _call(compiler: Compiler, tree: Call) -> Term:
    special = _SPECIAL.get(tree.name)
    if special is not None and tree.target is None:
        return special(compiler, tree)
    if tree.target is not None:
        if (tree.name, len(tree.arguments)) in MACROS:
            return fold(compiler, tree)
        name = f"{_qualified(tree.target)}.{tree.name}"
        root = name.partition(".")[0]
        if root in _NAMESPACES and compiler.found(root) is None:
            return _function(compiler, tree, name, [], member=False)
        return _function(compiler, tree, tree.name, [tree.target], member=True)
    if tree.name == "has" and len(tree.arguments) == 1:
        return _has(compiler, tree)
    return _function(compiler, tree, tree.name, [], member=False)


def _function(
    compiler: Compiler, tree: Call, name: str, target: list[Tree], *, member: bool
) -> Term:
    functions = library()
    if not functions.knows(name, member=member):
        if target:
            compiler.term(target[0])
        text = f"undeclared reference to '{name}' (in container '')"
        raise compiler.problem(tree.at, text)
    terms = [_argument(compiler, one, name) for one in (*target, *tree.arguments)]
    types = [one.type for one in terms]
    for pattern in tree.arguments[-1:] if name == "matches" else ():
        if isinstance(pattern, Literal):
            _check_pattern(compiler, pattern)
    found = functions.resolve(name, tuple(types), member=member)
    if found is None:
        raise _no_overload(compiler, tree.at, name, types, member=member)
    run, result = found
    if name == "_+_" and types[0].list_type:
        run, result = joined(types[0]), types[0]
    size = call_size(name, terms)
    if size is not None and result.most is None:
        result = Type(result.name, result.parameters, result.fields, size, result.least)
    cost = bounded(sum(one.cost for one in terms) + call_cost(name, terms))
    return Term(result, _applied(run, [one.run for one in terms]), cost)


def _argument(compiler: Compiler, tree: Tree, name: str) -> Term:
    """An argument; a literal that can never do is found here, not when it is too late."""
    if name == "format" and isinstance(tree, ListOf):
        return _list(compiler, tree, mixed=True)
    read = _LITERALS.get(name)
    if read is not None and isinstance(tree, Literal) and isinstance(tree.value, str):
        try:
            read(tree.value)
        except EvaluationError:
            raise compiler.problem(tree.at, f"invalid {name} argument") from None
    return compiler.term(tree)


def _check_pattern(compiler: Compiler, tree: Literal) -> None:
    try:
        regex(str(tree.value))
    except EvaluationError:
        raise compiler.problem(tree.at, "invalid matches argument") from None


_LITERALS: Final[dict[str, Callable[[str], Any]]] = {
    "duration": duration,
    "timestamp": timestamp,
}


def _applied(function: Callable[..., Any], runs: list[Run]) -> Run:
    """A call of a function; the usual numbers of arguments are spelled out because that is fast."""
    match runs:
        case [one]:
            return lambda frame: function(one(frame))
        case [one, two]:
            return lambda frame: function(one(frame), two(frame))
    return lambda frame: function(*[one(frame) for one in runs])


def _equals(compiler: Compiler, tree: Call) -> Term:
    one, two = (compiler.term(part) for part in tree.arguments)
    if not (accepts(one.type, two.type, {}) or accepts(two.type, one.type, {})):
        raise _no_overload(compiler, tree.at, tree.name, [one.type, two.type])
    same = comparison(one.type, two.type)
    left, right = one.run, two.run
    cost = bounded(one.cost + two.cost + call_cost("_==_", [one, two]))
    if tree.name == "_!=_":
        return Term(BOOL, lambda frame: not same(left(frame), right(frame)), cost)
    return Term(BOOL, lambda frame: same(left(frame), right(frame)), cost)


def _logic(compiler: Compiler, tree: Call) -> Term:
    """`||` and `&&`: an operand that decides alone wins over one that has no value."""
    terms = [compiler.term(part) for part in tree.arguments]
    types = [one.type for one in terms]
    if not all(accepts(BOOL, one, {}) for one in types):
        raise _no_overload(compiler, tree.at, tree.name, types)
    decisive: bool = tree.name == "_||_"
    left, right = (_boolean(one) for one in terms)

    def run(frame: Frame) -> bool:
        try:
            if left(frame) is decisive:
                return bool(decisive)
        except CostExceeded:
            raise
        except EvaluationError:
            if right(frame) is decisive:
                return bool(decisive)
            raise
        return bool(right(frame))

    return Term(BOOL, run, bounded(sum(one.cost for one in terms)))


def _boolean(one: Term) -> Run:
    """Runs a term that must give true or false."""
    if one.type.name == "bool":
        return one.run
    inner = one.run

    def run(frame: Frame) -> bool:
        value = inner(frame)
        if value is True or value is False:
            return value
        raise no_such_overload()

    return run


def _conditional(compiler: Compiler, tree: Call) -> Term:
    test, then, other = (compiler.term(part) for part in tree.arguments)
    types = [test.type, then.type, other.type]
    if not accepts(BOOL, test.type, {}):
        raise _no_overload(compiler, tree.at, "_?_:_", types)
    if accepts(then.type, other.type, {}):
        kind = other.type if has_dyn(other.type) else then.type
    elif accepts(other.type, then.type, {}):
        kind = other.type
    else:
        raise _no_overload(compiler, tree.at, "_?_:_", types)
    if then.type.most is not None and other.type.most is not None:
        most = max(then.most, other.most)
        kind = Type(
            kind.name, kind.parameters, kind.fields, most, kind.least, kind.list_type, kind.keys
        )
    asked, yes, no = _boolean(test), then.run, other.run
    cost = bounded(test.cost + max(then.cost, other.cost))
    return Term(kind, lambda frame: yes(frame) if asked(frame) else no(frame), cost)


def _in(compiler: Compiler, tree: Call) -> Term:
    """Membership; among literals of strings it is a look into a set."""
    _, items = tree.arguments
    if isinstance(items, ListOf) and all(
        isinstance(item, Literal) and type(item.value) is str for item, _ in items.items
    ):
        value, term = compiler.term(tree.arguments[0]), compiler.term(items)
        if value.type.name == "string":
            words = frozenset(item.value for item, _ in items.items if isinstance(item, Literal))
            run, cost = value.run, bounded(value.cost + term.cost + len(words))
            return Term(BOOL, lambda frame: run(frame) in words, cost)
    return _function(compiler, tree, "@in", [], member=False)


_SPECIAL: Final[dict[str, Callable[[Compiler, Call], Term]]] = {
    "_==_": _equals,
    "_!=_": _equals,
    "_||_": _logic,
    "_&&_": _logic,
    "_?_:_": _conditional,
    "@in": _in,
}
_TERMS: Final[dict[type, Callable[[Compiler, Any], Term]]] = {
    Literal: _literal,
    Name: _name,
    Select: _select,
    Index: _index,
    Call: _call,
    ListOf: _list,
    MapOf: _map,
}
