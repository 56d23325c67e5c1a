"""Operators that are no functions: equality, `||`, `&&`, `?:`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kapy.kube.cel.charges import equality
from kapy.kube.cel.costs import call_cost
from kapy.kube.cel.equality import Comparison, comparison
from kapy.kube.cel.errors import CostExceeded, EvaluationError, no_such_overload
from kapy.kube.cel.terms import Frame, Run, Term, bounded, charge
from kapy.kube.cel.tree import Call
from kapy.kube.cel.types import BOOL, Type, accepts, has_dyn

if TYPE_CHECKING:
    from kapy.kube.cel.compiler import Compiler


def equals_term(compiler: Compiler, tree: Call) -> Term:
    one, two = (compiler.term(part) for part in tree.arguments)
    if not (accepts(one.type, two.type, {}) or accepts(two.type, one.type, {})):
        raise compiler.no_overload(tree.at, tree.name, [one.type, two.type])
    same = comparison(one.type, two.type)
    if compiler.loops and not (one.type.name in _SHORT and two.type.name in _SHORT):
        return _charged_equality(tree, one, two, same)
    left, right = one.run, two.run
    cost = bounded(one.cost + two.cost + call_cost("_==_", [one, two]))
    if tree.name == "_!=_":
        return Term(BOOL, lambda frame: not same(left(frame), right(frame)), cost)
    return Term(BOOL, lambda frame: same(left(frame), right(frame)), cost)


_SHORT: Final = frozenset(("int", "uint", "double", "bool", "timestamp", "duration"))


def _charged_equality(tree: Call, one: Term, two: Term, same: Comparison) -> Term:
    """Equality within a loop costs what the sizes of the values say."""
    left, right = one.run, two.run
    cost = bounded(one.cost + two.cost + call_cost("_==_", [one, two]))
    wanted = tree.name == "_==_"

    def run(frame: Frame) -> bool:
        first, second = left(frame), right(frame)
        charge(frame, equality(first, second))
        return bool(same(first, second)) is wanted

    return Term(BOOL, run, cost)


def logic_term(compiler: Compiler, tree: Call) -> Term:
    """`||` and `&&`: an operand that decides alone wins over one that has no value."""
    terms = [compiler.term(part) for part in tree.arguments]
    types = [one.type for one in terms]
    if not all(accepts(BOOL, one, {}) for one in types):
        raise compiler.no_overload(tree.at, tree.name, types)
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
    if then.type.most is not None and other.type.most is not None:
        most = max(then.most, other.most)
        kind = Type(
            kind.name, kind.parameters, kind.fields, most, kind.least, kind.list_type, kind.keys
        )
    asked, yes, no = _boolean(test), then.run, other.run
    cost = bounded(test.cost + max(then.cost, other.cost))
    return Term(kind, lambda frame: yes(frame) if asked(frame) else no(frame), cost)
