"""Former names of public names, kept for one minor release with a DeprecationWarning.

class Controller:
    surround = RenamedMember("wrap_reconcile")

    @renamed_arguments(gather="debounce")
    def watch(self, informer: Informer, *, debounce: float = 0.0) -> None: ...

@renamed_fields(because="message")       # above `@dataclass`
class Waiting: ...

class Provider(RenamedMethods):          # a subclass may still define `converge`
    RENAMED = {"converge": "reconcile_normal"}

written = renamed_function(to_document, "written")
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ClassVar, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class RenamedMember:
    """The former name of a member of a class."""

    __slots__ = ("_new", "_old")

    def __init__(self, new: str) -> None:
        self._new = new
        self._old = ""

    @property
    def present(self) -> str:
        """Return the present name."""
        return self._new

    def __set_name__(self, owner: type, old: str) -> None:
        self._old = f"{owner.__name__}.{old}"

    def __get__(self, instance: object, owner: type) -> Any:
        _warn(self._old, self._new)
        return getattr(owner if instance is None else instance, self._new)


def renamed_arguments(**names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Accept former names of keyword arguments, given as `old="new"`."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            for old in names.keys() & kwargs.keys():
                _warn(f"{function.__qualname__}({old}=)", names[old])
                kwargs[names[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def renamed_fields(**names: str) -> Callable[[type[T]], type[T]]:
    """Accept former names of fields, given as `old="new"`: to construct an object, and to read."""

    def decorate(cls: type[T]) -> type[T]:
        def init(self: T, *args: Any, **kwargs: Any) -> None:
            for old in names.keys() & kwargs.keys():
                _warn(f"{cls.__name__}({old}=)", names[old])
                kwargs[names[old]] = kwargs.pop(old)
            original(self, *args, **kwargs)

        original: Any = cls.__init__
        cls.__init__ = wraps(original)(init)  # type: ignore[assignment]
        for old, new in names.items():
            member = RenamedMember(new)
            member.__set_name__(cls, old)
            setattr(cls, old, member)
        return cls

    return decorate


def renamed_function(function: Callable[P, T], old: str) -> Callable[P, T]:
    """Return a function with a former name."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        _warn(f"{function.__module__}.{old}", function.__name__)
        return function(*args, **kwargs)

    call.__module__ = __name__  # keep it out of the public names of the function's module
    return call


class RenamedMethods:
    """Base of a class whose subclasses may define methods under former names.

    A method with a former name implements the one with the present name, and a call of a former
    name reaches it. RENAMED: present names by former ones.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        defined = vars(cls)
        if "RENAMED" in defined:
            for old, new in cls.RENAMED.items():
                member = RenamedMember(new)
                member.__set_name__(cls, old)
                setattr(cls, old, member)
            return
        for old, new in cls.RENAMED.items():
            if old in defined and new not in defined:
                _warn(f"{cls.__name__}.{old}", new)
                setattr(cls, new, defined[old])


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is now called {new}", DeprecationWarning, stacklevel=3)
