"""Functions by name and signature, and the selection of an overload for a call.

A signature is written as `isURL(string) -> bool`, that of a member function as `string ::
startsWith(string) -> bool`. Capital letters are type parameters; `list<A>` is a list of A.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kapy.kube.cel.errors import no_such_overload
from kapy.kube.cel.types import SCALARS, Bindings, Type, accepts, has_dyn, substitute
from kapy.kube.cel.values import kind_of

Function: TypeAlias = Callable[..., Any]
Functions: TypeAlias = Mapping[str, Function]
"""Implementations by their signatures."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function; the target of a member function is its first parameter."""

    name: str
    member: bool
    parameters: tuple[Type, ...]
    result: Type
    run: Function

    def fits(self, values: tuple[Any, ...]) -> bool:
        """Return whether the values have the kinds of the parameters."""
        return all(map(_is_instance, self.parameters, values))


def _is_instance(expected: Type, value: Any) -> bool:
    """Return whether a value, including its items, has a type."""
    if has_dyn(expected):
        return True
    if expected.name != kind_of(value):
        return False
    if not expected.parameters or has_dyn(expected.item):
        return True
    if expected.name == "list":
        return all(_is_instance(expected.item, item) for item in value)
    if expected.name == "optional_type":
        return not value.present or _is_instance(expected.item, value.inner)
    return True


_PART: Final = re.compile(r"\s*([\w.]+|[<>,])")


def _type(words: list[str]) -> Type:
    name = words.pop(0)
    parameters: list[Type] = []
    while words and words[0] == ("," if parameters else "<"):
        words.pop(0)
        parameters.append(_type(words))
    if parameters:
        words.pop(0)  # the closing >
        return Type("optional_type" if name == "optional" else name, tuple(parameters))
    return SCALARS.get(name) or Type(name)


def _types(text: str) -> tuple[Type, ...]:
    words, result = _PART.findall(text), []
    while words:
        result.append(_type(words))
        if words:
            words.pop(0)  # the comma
    return tuple(result)


_SIGNATURE: Final = re.compile(
    r"(?:(?P<target>\S.*?) :: )?(?P<name>[^\s(]+)\((?P<given>.*)\) -> (?P<result>.+)"
)


def overload(signature: str, run: Function) -> Overload:
    """Build an overload from its signature and implementation."""
    match = _SIGNATURE.fullmatch(signature)
    assert match is not None, signature
    target = _types(match["target"]) if match["target"] else ()
    (result,) = _types(match["result"])
    return Overload(match["name"], bool(target), target + _types(match["given"]), result, run)


class Library:
    """All functions that expressions can call."""

    def __init__(self, parts: Iterable[Functions]) -> None:
        self._named: dict[tuple[str, bool], list[Overload]] = {}
        for part in parts:
            for signature, run in part.items():
                candidate = overload(signature, run)
                self._named.setdefault((candidate.name, candidate.member), []).append(candidate)

    def knows(self, name: str, *, member: bool) -> bool:
        """Return whether there is a function with that name."""
        return (name, member) in self._named

    def resolve(
        self, name: str, arguments: tuple[Type, ...], *, member: bool
    ) -> tuple[Function, Type] | None:
        """Return the function and result type for the argument types; None if no overload
        matches.
        """
        fitting: list[Overload] = []
        results: list[Type] = []
        for item in self._named.get((name, member), ()):
            bindings: Bindings = {}
            if len(item.parameters) == len(arguments) and all(
                accepts(wanted, got, bindings)
                for wanted, got in zip(item.parameters, arguments, strict=True)
            ):
                fitting.append(item)
                results.append(substitute(item.result, bindings))
        if not fitting:
            return None
        if len(fitting) == 1 and not _needs_dispatch(fitting[0], arguments):
            return fitting[0].run, results[0]
        same = all(str(kind) == str(results[0]) for kind in results)
        return _dispatch(fitting), results[0] if same else SCALARS["dyn"]


def _needs_dispatch(candidate: Overload, arguments: tuple[Type, ...]) -> bool:
    """Return whether the arguments must be checked at run time, because their types are not
    known.
    """
    return any(map(_is_uncertain, candidate.parameters, arguments))


def _is_uncertain(expected: Type, actual: Type) -> bool:
    if has_dyn(expected):
        return False
    if has_dyn(actual) or actual.name == "null_type":
        return True
    return any(map(_is_uncertain, expected.parameters, actual.parameters))


def _dispatch(overloads: list[Overload]) -> Function:
    def run(*values: Any) -> Any:
        for candidate in overloads:
            if candidate.fits(values):
                return candidate.run(*values)
        raise no_such_overload()

    return run
