"""Compiles the function calls in CEL expressions to Python closures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kapy.kube.cel import logic
from kapy.kube.cel.costs import CHARGES, Charge, call_cost, call_size
from kapy.kube.cel.equality import concatenation
from kapy.kube.cel.errors import CostExceeded, EvaluationError
from kapy.kube.cel.functions import library
from kapy.kube.cel.functions.printing import format_problem
from kapy.kube.cel.functions.regexes import check_pattern
from kapy.kube.cel.functions.times import duration, timestamp
from kapy.kube.cel.literals import NAMESPACES, list_term, qualified_name
from kapy.kube.cel.macros import MACROS, macro_term
from kapy.kube.cel.members import has_term
from kapy.kube.cel.terms import Frame, Run, Term, bound_cost, charge
from kapy.kube.cel.tree import Call, ListOf, Literal, Tree
from kapy.kube.cel.types import BOOL, Type

if TYPE_CHECKING:
    from kapy.kube.cel.compiler import Compiler


def call_term(compiler: Compiler, tree: Call) -> Term:
    special = _SPECIAL.get(tree.name)
    if special is not None and tree.target is None:
        return special(compiler, tree)
    if tree.target is not None:
        if (tree.name, len(tree.arguments)) in MACROS:
            return macro_term(compiler, tree)
        name = f"{qualified_name(tree.target)}.{tree.name}"
        root = name.partition(".")[0]
        if root in NAMESPACES and compiler.lookup(root) is None:
            return _function(compiler, tree, name, [], member=False)
        return _function(compiler, tree, tree.name, [tree.target], member=True)
    if tree.name == "has" and len(tree.arguments) == 1:
        return has_term(compiler, tree)
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
    terms = [_argument(compiler, term, name) for term in (*target, *tree.arguments)]
    types = [term.type for term in terms]
    for pattern in tree.arguments[-1:] if name == "matches" else ():
        if isinstance(pattern, Literal):
            _check_pattern(compiler, pattern)
    if name == "format" and member:
        _check_format(compiler, tree)
    overload = functions.resolve(name, tuple(types), member=member)
    if overload is None:
        raise compiler.no_overload(tree.at, name, types, member=member)
    run, result = overload
    if name == "_+_" and types[0].list_type:
        run, result = concatenation(types[0]), types[0]
    size = call_size(name, terms)
    if size is not None and result.max_size is None:
        result = Type(result.name, result.parameters, result.fields, size, result.min_size)
    cost = bound_cost(sum(term.cost for term in terms) + call_cost(name, terms))
    charges = CHARGES.get(name) if _may_be_large(types) else None
    runs = [term.run for term in terms]
    return Term(
        result, _with_charge(run, runs, charges) if charges else _apply_function(run, runs), cost
    )


def _may_be_large(types: list[Type]) -> bool:
    return not all(kind.name in _CONSTANT_SIZE_TYPES for kind in types)


_CONSTANT_SIZE_TYPES: Final = frozenset(("int", "uint", "double", "bool", "timestamp", "null_type"))


def _with_charge(function: Callable[..., Any], runs: list[Run], charges: Charge) -> Run:
    """Return a closure that runs a call and charges a cost computed from the sizes of its
    arguments.
    """
    if len(runs) == 2:
        value, two = runs

        def run_two(frame: Frame) -> Any:
            first, second = value(frame), two(frame)
            frame[0] -= charges(first, second)
            if frame[0] < 0:
                raise CostExceeded
            return function(first, second)

        return run_two

    def run(frame: Frame) -> Any:
        values = [item(frame) for item in runs]
        charge(frame, charges(*values))
        return function(*values)

    return run


def _argument(compiler: Compiler, tree: Tree, name: str) -> Term:
    """Compile an argument; an invalid literal pattern or format is reported at compile time."""
    if name == "format" and isinstance(tree, ListOf):
        return list_term(compiler, tree, mixed=True)
    read = _LITERALS.get(name)
    if read is not None and isinstance(tree, Literal) and isinstance(tree.value, str):
        try:
            read(tree.value)
        except EvaluationError:
            raise compiler.problem(tree.at, f"invalid {name} argument") from None
    return compiler.term(tree)


def _check_format(compiler: Compiler, tree: Call) -> None:
    """Check a call with a constant text and a list of values."""
    text, values = tree.target, tree.arguments[0] if tree.arguments else None
    if not isinstance(text, Literal) or not isinstance(text.value, str):
        return
    if isinstance(values, ListOf):
        kinds = [compiler.term(item).type.name for item, _ in values.items]
        if problem := format_problem(text.value, kinds):
            raise compiler.problem(tree.at, problem)


def _check_pattern(compiler: Compiler, tree: Literal) -> None:
    try:
        check_pattern(str(tree.value))
    except EvaluationError:
        raise compiler.problem(tree.at, "invalid matches argument") from None


_LITERALS: Final[dict[str, Callable[[str], Any]]] = {
    "duration": duration,
    "timestamp": timestamp,
}


def _apply_function(function: Callable[..., Any], runs: list[Run]) -> Run:
    """Return a closure that runs a call without a charge.

    Calls with up to three arguments have a fast path.
    """
    match runs:
        case [first]:
            return lambda frame: function(first(frame))
        case [first, two]:
            return lambda frame: function(first(frame), two(frame))
    return lambda frame: function(*[run(frame) for run in runs])


def _in(compiler: Compiler, tree: Call) -> Term:
    """Compile membership; for a list of string literals it is a set lookup."""
    _, items = tree.arguments
    if isinstance(items, ListOf) and all(
        isinstance(item, Literal) and type(item.value) is str for item, _ in items.items
    ):
        value, term = compiler.term(tree.arguments[0]), compiler.term(items)
        if value.type.name == "string":
            words = frozenset(item.value for item, _ in items.items if isinstance(item, Literal))
            run, cost = value.run, bound_cost(value.cost + term.cost + len(words))
            return Term(BOOL, lambda frame: run(frame) in words, cost)
    return _function(compiler, tree, "@in", [], member=False)


_SPECIAL: Final[dict[str, Callable[[Compiler, Call], Term]]] = {
    "_==_": logic.equals_term,
    "_!=_": logic.equals_term,
    "_||_": logic.logic_term,
    "_&&_": logic.logic_term,
    "_?_:_": logic.conditional_term,
    "@in": _in,
}
