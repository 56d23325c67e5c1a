"""Compiles a syntax tree to Python closures and checks types like cel-go's checker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kapy.kube.cel.calls import call_term
from kapy.kube.cel.errors import CompileError, EvaluationError
from kapy.kube.cel.literals import list_term, literal_term, map_term, name_term
from kapy.kube.cel.members import index_term, select_term
from kapy.kube.cel.parser import parse
from kapy.kube.cel.terms import Frame, Run, Term, charge
from kapy.kube.cel.tree import Call, Index, ListOf, Literal, MapOf, Name, Select, Tree, max_steps
from kapy.kube.cel.types import Type

DEFAULT_LIMIT: Final = 1_000_000
"""The cost limit of one run."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled CEL expression. cost: the maximum cost of an evaluation. uses: the variables that
    the expression reads.
    """

    type: Type
    cost: int
    uses: frozenset[str]
    _run: Run
    _slots: int
    _steps: int

    def run(self, *values: Any, limit: int = DEFAULT_LIMIT) -> tuple[Any, int]:
        """Evaluate the expression. Returns its value and the rest of the cost limit.

        values: the variables, in their order of declaration. Raises EvaluationError; CostExceeded
        if the limit is exceeded.
        """
        frame: Frame = [limit, *values, *([None] * self._slots)]
        try:
            charge(frame, self._steps)
            return self._run(frame), frame[0]
        except RecursionError:
            raise EvaluationError("values are nested too deeply") from None
        except (ArithmeticError, ValueError) as error:
            if isinstance(error, EvaluationError):
                raise
            raise EvaluationError(str(error)) from None


def compile_expression(source: str, variables: Mapping[str, Type]) -> Program:
    """Compile a CEL expression. Raises CompileError."""
    compiler = Compiler(source, variables)
    try:
        tree = parse(source)
        term = compiler.term(tree)
        work = max_steps(tree)
    except RecursionError:
        raise CompileError("expression recursion limit exceeded", source, 0) from None
    used = frozenset(compiler.used)
    return Program(term.type, term.cost, used, term.run, compiler.slots, work)


class Compiler:
    """Compiles one expression and tracks the variables in scope."""

    def __init__(self, source: str, variables: Mapping[str, Type]) -> None:
        self.source = source
        self.used: set[str] = set()
        self.slots = 0
        self.loops = 0
        self._given = len(variables)
        self._scope = {name: (kind, slot) for slot, (name, kind) in enumerate(variables.items(), 1)}
        self._readable = set(variables)

    def problem(self, at: int, text: str) -> CompileError:
        """Return the error for a position in the source."""
        return CompileError(text, self.source, at)

    def no_overload(
        self, at: int, name: str, types: list[Type], *, member: bool = False
    ) -> CompileError:
        """Return the error for a call without a matching overload."""
        target = f"{types[0]}." if member else ""
        argument_types = ", ".join(str(kind) for kind in (types[1:] if member else types))
        text = f"found no matching overload for '{name}' applied to '{target}({argument_types})'"
        return self.problem(at, text)

    def term(self, tree: Tree) -> Term:
        """Compile any node of the syntax tree."""
        return _TERMS[type(tree)](self, tree)

    def within(self, names: tuple[str, ...], types: tuple[Type, ...]) -> _Scope:
        """Return a scope with additional variables; entering it yields their slots."""
        return _Scope(self, names, types)

    @contextmanager
    def loop(self) -> Iterator[None]:
        """Mark the code compiled in this context as the body of a loop. The attribute `loops`
        counts the loops around the current code.
        """
        self.loops += 1
        try:
            yield
        finally:
            self.loops -= 1

    def push(self, names: tuple[str, ...], types: tuple[Type, ...]) -> tuple[int, ...]:
        slots = []
        for name, kind in zip(names, types, strict=True):
            self.slots += 1
            slot = self._given + self.slots
            slots.append(slot)
            self._scope[name] = (kind, slot)
        return tuple(slots)

    @property
    def scope(self) -> dict[str, tuple[Type, int]]:
        return self._scope

    def restore(self, scope: dict[str, tuple[Type, int]]) -> None:
        self._scope = scope

    def lookup(self, name: str) -> tuple[Type, int] | None:
        """Return the type and slot of a variable, None if it is undeclared."""
        entry = self._scope.get(name)
        if entry is not None and entry[1] <= self._given:
            self.used.add(name)
        return entry


class _Scope:
    """A context manager for the scope of comprehension variables."""

    def __init__(self, compiler: Compiler, names: tuple[str, ...], types: tuple[Type, ...]) -> None:
        self._compiler, self._names, self._types = compiler, names, types

    def __enter__(self) -> tuple[int, ...]:
        self._before = dict(self._compiler.scope)
        return self._compiler.push(self._names, self._types)

    def __exit__(self, *_: object) -> None:
        self._compiler.restore(self._before)


_TERMS: Final[dict[type, Callable[[Compiler, Any], Term]]] = {
    Literal: literal_term,
    Name: name_term,
    Select: select_term,
    Index: index_term,
    Call: call_term,
    ListOf: list_term,
    MapOf: map_term,
}
