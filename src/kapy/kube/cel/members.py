"""Compiles fields and items: `a.b`, `a.?b`, `a[0]`, `has(a.b)`."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kapy.kube.cel.equality import reading
from kapy.kube.cel.errors import EvaluationError, no_such_overload
from kapy.kube.cel.lexer import RESERVED
from kapy.kube.cel.literals import constant, qualified_name, type_word
from kapy.kube.cel.terms import Frame, Term, bound_cost
from kapy.kube.cel.tree import Call, Index, Select
from kapy.kube.cel.types import BOOL, DYN, INT, Type, accepts, has_dyn, optional_of, type_of
from kapy.kube.cel.values import KEYS, NONE, NUMBERS, Optional, kind_of, some, unwrap

if TYPE_CHECKING:
    from kapy.kube.cel.compiler import Compiler


def select_term(compiler: Compiler, tree: Select) -> Term:
    name = qualified_name(tree)
    word = type_word(name)
    if word is not None and compiler.lookup(name.partition(".")[0]) is None:
        return constant(type_of(DYN), word)
    if name and (variable := compiler.lookup(name)) is not None:
        kind, slot = variable
        return Term(kind, itemgetter(slot), 1)
    operand = compiler.term(tree.operand)
    lenient = tree.optional or operand.type.name == "optional_type"
    if lenient:
        return _optional_member(compiler, tree.at, operand, tree.field)
    return _member(compiler, tree.at, operand, tree.field)


def _field(compiler: Compiler, at: int, kind: Type, field: str) -> tuple[Type, str]:
    """Return the type of a member, and its key in the document."""
    if kind.name == "object":
        result = kind.fields.get(field)
        if result is None and field in RESERVED:  # the word itself may follow a dot
            result = kind.fields.get(f"__{field}__")
        if result is None:
            raise compiler.problem(at, f"undefined field '{field}'")
        return result.type, result.name
    if kind.name == "map":
        return kind.item, field
    if has_dyn(kind):
        return DYN, field
    raise compiler.problem(at, f"type '{kind}' does not support field selection")


def _member(compiler: Compiler, at: int, operand: Term, field: str) -> Term:
    kind, key = _field(compiler, at, operand.type, field)
    declared = operand.type.name == "object"
    read = reading(kind) if declared else None
    run = operand.run

    def select(frame: Frame) -> Any:
        try:
            return run(frame)[key]
        except (KeyError, TypeError, IndexError):
            raise _no_member(run(frame), key) from None

    def select_declared(frame: Frame) -> Any:
        value = select(frame)
        if value is None:  # a null member of an object with declared fields counts as absent
            raise EvaluationError(f"no such key: {key}")
        return value if read is None else read(value)

    return Term(kind, select_declared if declared else select, bound_cost(operand.cost + 1))


def _no_member(value: Any, key: str) -> EvaluationError:
    if value is None or isinstance(value, dict):
        return EvaluationError(f"no such key: {key}")
    return no_such_overload()


def _optional_member(compiler: Compiler, at: int, operand: Term, field: str) -> Term:
    inner = operand.type.item if operand.type.name == "optional_type" else operand.type
    kind, key = _field(compiler, at, inner, field)
    declared = inner.name == "object"
    read = (reading(kind) if declared else None) or (lambda value: value)
    run = operand.run

    def select(frame: Frame) -> Optional:
        value = unwrap(run(frame))
        if isinstance(value, dict) and key in value and not (declared and value[key] is None):
            return some(read(value[key]))
        if isinstance(value, dict) or value is NONE or value is None:
            return NONE
        raise no_such_overload()

    return Term(optional_of(kind), select, bound_cost(operand.cost + 1))


def has_term(compiler: Compiler, tree: Call) -> Term:
    (argument,) = tree.arguments
    if not isinstance(argument, Select):
        raise compiler.problem(tree.at, "invalid argument to has() macro")
    operand = compiler.term(argument.operand)
    kind = operand.type.item if operand.type.name == "optional_type" else operand.type
    _, key = _field(compiler, tree.at, kind, argument.field)
    run = operand.run
    if kind.name == "object" and kind is operand.type:

        def of_object(frame: Frame) -> bool:
            value = run(frame)
            return value is not None and value.get(key) is not None

        return Term(BOOL, of_object, operand.cost)

    def test(frame: Frame) -> bool:
        value = unwrap(run(frame))
        if value is None:
            return False
        if isinstance(value, dict):
            return key in value and not (kind.name == "object" and value[key] is None)
        if value is NONE:
            return False
        raise no_such_overload()

    return Term(BOOL, test, operand.cost)


def index_term(compiler: Compiler, tree: Index) -> Term:
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
            raise compiler.no_overload(tree.at, "_[_]", [operand.type, key.type])
    if not accepts(wanted, key.type, {}) and not _is_number(wanted, key.type):
        raise compiler.no_overload(tree.at, "_[_]", [operand.type, key.type])
    cost = bound_cost(operand.cost + key.cost + 1)
    run, at = operand.run, key.run
    if tree.optional or chained:
        return Term(
            optional_of(result), lambda frame: _optional_lookup(run(frame), at(frame)), cost
        )
    return Term(result, lambda frame: _item(run(frame), at(frame)), cost)


def _is_number(expected: Type, actual: Type) -> bool:
    return expected.name == "int" and actual.name in ("uint", "double")


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
    """Return a list index, which may be any integral number."""
    if kind_of(key) not in NUMBERS or (isinstance(key, float) and not key.is_integer()):
        raise no_such_overload()
    return int(key)


def _optional_lookup(value: Any, key: Any) -> Optional:
    value = unwrap(value)
    if isinstance(value, list):
        index = _position(key)
        return some(value[index]) if 0 <= index < len(value) else NONE
    if isinstance(value, dict) and kind_of(key) in KEYS:
        return some(value[key]) if key in value else NONE
    if value is NONE or value is None:
        return NONE
    raise no_such_overload()
