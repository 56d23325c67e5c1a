"""Puts a mutation into the running process: the code of the changed functions is replaced.

A process that has imported everything forks for each mutation, so that trying one costs no imports.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutations.mutation import Mutation
from tests.mutations.runner import source_of


class NotLive(Exception):
    """The mutation changes no function, or one that is not found."""


def apply(mutation: Mutation) -> list[str]:
    """Replace the code of the functions that a mutation changes; answers their names."""
    source = source_of(mutation).read_text()
    changed = source.replace(mutation.old, mutation.new)
    name = "kapy." + mutation.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    module = import_module(name)
    old = dict(_codes(compile(source, str(module.__file__), "exec")))
    new = dict(_codes(compile(changed, str(module.__file__), "exec")))
    names = [
        qualname
        for qualname, code in new.items()
        if qualname in old and _content(old[qualname]) != _content(code)
    ]
    functions = {function.__qualname__: function for function in _functions(module)}
    replaced = [name for name in names if name in functions]
    for qualname in replaced:
        code = new[qualname]
        if code.co_freevars != functions[qualname].__code__.co_freevars:
            raise NotLive(f"{qualname} has other variables")
        functions[qualname].__code__ = code
    if not replaced:
        raise NotLive(f"{mutation.name}: no function changes ({', '.join(names)})")
    return replaced


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    """The functions of a module and of its classes, without those inside of functions."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & inspect.CO_NEWLOCALS:
                yield constant.co_qualname, constant
            else:
                yield from _codes(constant)


def _content(code: CodeType) -> tuple[Any, ...]:
    """Return the code of a function, without its place in the file."""
    constants = tuple(
        _content(constant) if isinstance(constant, CodeType) else repr(constant)
        for constant in code.co_consts
    )
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, type):
            for member in vars(value).values():
                yield from _plain(member)
        else:
            yield from _plain(value)


def _plain(value: Any) -> Iterator[FunctionType]:
    """The function behind a property, a method or a decorator."""
    for name in ("fget", "func", "__func__"):
        inner = getattr(value, name, None)
        if isinstance(inner, FunctionType):
            value = inner
    function = inspect.unwrap(value) if callable(value) else None
    if isinstance(function, FunctionType):
        yield function


def loaded() -> int:
    """Return the number of kapy's modules that are loaded."""
    return sum(name.startswith("kapy.") for name in sys.modules)
