"""Operators that are not functions: equality, `||`, `&&`, `?:`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kapy.kube.cel.costs import call_cost, equality
from kapy.kube.cel.equality import Comparison, comparison
from kapy.kube.cel.errors import CostExceeded, EvaluationError, no_such_overload
from kapy.kube.cel.terms import Frame, Run, Term, bound_cost, charge
from kapy.kube.cel.tree import Call
from kapy.kube.cel.types import BOOL, Type, accepts, has_dyn

if TYPE_CHECKING:
    from kapy.kube.cel.compiler import Compiler


def equals_term(compiler: Compiler, tree: Call) -> Term:
    term, two = (compiler.term(part) for part in tree.arguments)
    if not (accepts(term.type, two.type, {}) or accepts(two.type, term.type, {})):
        raise compiler.no_overload(tree.at, tree.name, [term.type, two.type])
    same = comparison(term.type, two.type)
    if compiler.loops and not (
        term.type.name in _CONSTANT_SIZE_TYPES and two.type.name in _CONSTANT_SIZE_TYPES
    ):
        return _equality_with_charge(tree, term, two, same)
    left, right = term.run, two.run
    cost = bound_cost(term.cost + two.cost + call_cost("_==_", [term, two]))
    if tree.name == "_!=_":
        return Term(BOOL, lambda frame: not same(left(frame), right(frame)), cost)
    return Term(BOOL, lambda frame: same(left(frame), right(frame)), cost)


_CONSTANT_SIZE_TYPES: Final = frozenset(("int", "uint", "double", "bool", "timestamp", "duration"))


def _equality_with_charge(
    tree: Call, first_term: Term, second_term: Term, same: Comparison
) -> Term:
    """Return the run of an equality in a loop, which charges a cost by the size of the values."""
    left, right = first_term.run, second_term.run
    cost = bound_cost(
        first_term.cost + second_term.cost + call_cost("_==_", [first_term, second_term])
    )
    wanted = tree.name == "_==_"

    def run(frame: Frame) -> bool:
        first, second = left(frame), right(frame)
        charge(frame, equality(first, second))
        return bool(same(first, second)) is wanted

    return Term(BOOL, run, cost)


def logic_term(compiler: Compiler, tree: Call) -> Term:
    """Compile `||` and `&&`: an operand that decides the result wins over an operand with
    an error.
    """
    terms = [compiler.term(part) for part in tree.arguments]
    types = [term.type for term in terms]
    if not all(accepts(BOOL, term, {}) for term in types):
        raise compiler.no_overload(tree.at, tree.name, types)
    decisive: bool = tree.name == "_||_"
    left, right = (_boolean(term) for term in terms)

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

    return Term(BOOL, run, bound_cost(sum(term.cost for term in terms)))


def _boolean(term: Term) -> Run:
    """Return the run of a term that must evaluate to true or false."""
    if term.type.name == "bool":
        return term.run
    inner = term.run

    def run(frame: Frame) -> bool:
        value = inner(frame)
        if value is True or value is False:
            return value
        raise no_such_overload()

    return run


def conditional_term(compiler: Compiler, tree: Call) -> Term:
    test, then, other = (compiler.term(part) for part in tree.arguments)
    types = [test.type, then.type, other.type]
    if not accepts(BOOL, test.type, {}):
        raise compiler.no_overload(tree.at, "_?_:_", types)
    if accepts(then.type, other.type, {}):
        kind = other.type if has_dyn(other.type) else then.type
    elif accepts(other.type, then.type, {}):
        kind = other.type
    else:
        raise compiler.no_overload(tree.at, "_?_:_", types)
    if then.type.max_size is not None and other.type.max_size is not None:
        limit = max(then.max_size, other.max_size)
        kind = Type(
            kind.name, kind.parameters, kind.fields, limit, kind.min_size, kind.list_type, kind.keys
        )
    condition, yes, no = _boolean(test), then.run, other.run
    cost = bound_cost(test.cost + max(then.cost, other.cost))
    return Term(kind, lambda frame: yes(frame) if condition(frame) else no(frame), cost)
