"""Functions by name and signature, and which of them a call means.

A signature is written as `isURL(string) -> bool`, that of a member function as
`string :: startsWith(string) -> bool`. Capital letters are type parameters, `list<A>` is a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kapy.kube.cel.errors import no_such_overload
from kapy.kube.cel.types import SCALARS, Bindings, Type, accepts, bound, has_dyn
from kapy.kube.cel.values import kind_of

Function: TypeAlias = Callable[..., Any]
Functions: TypeAlias = Mapping[str, Function]
"""Implementations by their signatures."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One meaning of a function; the target of a member function is its first parameter."""

    name: str
    member: bool
    parameters: tuple[Type, ...]
    result: Type
    run: Function

    def fits(self, values: tuple[Any, ...]) -> bool:
        """Whether values may be its arguments, by their kinds."""
        return all(map(_is, self.parameters, values))


def _is(wanted: Type, value: Any) -> bool:
    """Whether a value has a type, and so has what it holds."""
    if has_dyn(wanted):
        return True
    if wanted.name != kind_of(value):
        return False
    if not wanted.parameters or has_dyn(wanted.item):
        return True
    if wanted.name == "list":
        return all(_is(wanted.item, one) for one in value)
    if wanted.name == "optional_type":
        return not value.present or _is(wanted.item, value.inner)
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
    words, found = _PART.findall(text), []
    while words:
        found.append(_type(words))
        if words:
            words.pop(0)  # the comma
    return tuple(found)


_SIGNATURE: Final = re.compile(
    r"(?:(?P<target>\S.*?) :: )?(?P<name>[^\s(]+)\((?P<given>.*)\) -> (?P<result>.+)"
)


def overload(signature: str, run: Function) -> Overload:
    """From a signature and what implements it."""
    found = _SIGNATURE.fullmatch(signature)
    assert found is not None, signature
    target = _types(found["target"]) if found["target"] else ()
    (result,) = _types(found["result"])
    return Overload(found["name"], bool(target), target + _types(found["given"]), result, run)


class Library:
    """All functions that an expression may call."""

    def __init__(self, parts: Iterable[Functions]) -> None:
        self._named: dict[tuple[str, bool], list[Overload]] = {}
        for part in parts:
            for signature, run in part.items():
                one = overload(signature, run)
                self._named.setdefault((one.name, one.member), []).append(one)

    def knows(self, name: str, *, member: bool) -> bool:
        """Whether there is any function of that name."""
        return (name, member) in self._named

    def resolve(
        self, name: str, given: tuple[Type, ...], *, member: bool
    ) -> tuple[Function, Type] | None:
        """What a call runs, and its type; None when no overload fits the types."""
        fitting: list[Overload] = []
        results: list[Type] = []
        for one in self._named.get((name, member), ()):
            bindings: Bindings = {}
            if len(one.parameters) == len(given) and all(
                accepts(wanted, got, bindings)
                for wanted, got in zip(one.parameters, given, strict=True)
            ):
                fitting.append(one)
                results.append(bound(one.result, bindings))
        if not fitting:
            return None
        if len(fitting) == 1 and not _must_look(fitting[0], given):
            return fitting[0].run, results[0]
        same = all(str(one) == str(results[0]) for one in results)
        return _dispatched(fitting), results[0] if same else SCALARS["dyn"]


def _must_look(one: Overload, given: tuple[Type, ...]) -> bool:
    """Whether arguments must be looked at before the call, because their types are not known."""
    return any(map(_unsure, one.parameters, given))


def _unsure(wanted: Type, given: Type) -> bool:
    if has_dyn(wanted):
        return False
    if has_dyn(given) or given.name == "null_type":
        return True
    return any(map(_unsure, wanted.parameters, given.parameters))


def _dispatched(overloads: list[Overload]) -> Function:
    def run(*values: Any) -> Any:
        for one in overloads:
            if one.fits(values):
                return one.run(*values)
        raise no_such_overload()

    return run
