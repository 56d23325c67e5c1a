"""Dataclasses whose methods are compiled at their first use.

`dataclasses.dataclass` compiles five to seven functions for each class when its module is imported,
which was more than a quarter of the start of a process. Most of these classes have no instance in
most processes, and few instances are ever compared or printed. The decorator here takes the same
arguments and gives the same classes to `dataclasses`, type checkers and users; `InitVar` is not
supported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **params):
        """As `dataclasses.dataclass`."""
        if cls is None:
            return lambda decorated: _process(decorated, params)
        return _process(cls, params)


__all__ = ["dataclass"]

Build = Callable[[type[Any]], Callable[..., Any]]

_FIELDS: Final = "__dataclass_fields__"
_PARAMS: Final = "__dataclass_params__"
_SUPPORTED: Final = frozenset({"frozen", "slots", "eq", "kw_only"})
_set_attribute: Final = object.__setattr__


class _Factory:
    """The default of a parameter whose field has a default factory, in signatures."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY: Final = _Factory()


class _Lazy:
    """A method of a class that takes the place of this object at its first use."""

    __slots__ = ("_build", "_name", "_owner")

    def __init__(self, owner: type[Any], name: str, build: Build) -> None:
        self._owner = owner
        self._name = name
        self._build = build

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        there = self._owner.__dict__.get(self._name)
        if there is self:
            there = self._build(self._owner)
            there.__qualname__ = f"{self._owner.__qualname__}.{self._name}"
            setattr(self._owner, self._name, there)
        assert there is not None
        return there.__get__(instance, owner)


def _process(cls: type[Any], params: dict[str, Any]) -> type[Any]:
    defined = frozenset(cls.__dict__)
    is_derived = any(_FIELDS in base.__dict__ for base in cls.__mro__[1:])
    if is_derived or not _SUPPORTED.issuperset(params) or not cls.__doc__:
        result: type[Any] = dataclasses.dataclass(**params)(cls)
        return result
    frozen, eq = params.get("frozen", False), params.get("eq", True)
    slots, kw_only = params.get("slots", False), params.get("kw_only", False)
    without = {"init": False, "repr": False, "eq": False}
    cls = dataclasses.dataclass(**without, slots=slots, kw_only=kw_only)(cls)
    settings = getattr(cls, _PARAMS)
    settings.init, settings.repr, settings.eq, settings.frozen = True, True, eq, frozen
    _refuse_init_vars(cls)
    _add(cls, defined, "__init__", _init)
    _add(cls, defined, "__repr__", _repr)
    if eq:
        _add(cls, defined, "__eq__", _eq)
        if not frozen:
            _set_hash(cls, defined, None)
        else:
            _set_hash(cls, defined, _Lazy(cls, "__hash__", _hash))
    if frozen:
        _freeze(cls, with_state=slots and "__getstate__" not in defined)
    return cls


def _refuse_init_vars(cls: type[Any]) -> None:
    for field in getattr(cls, _FIELDS).values():
        if "InitVar" in str(field.type):
            raise TypeError(f"{cls.__name__}.{field.name}: InitVar needs dataclasses.dataclass")


def _add(cls: type[Any], defined: frozenset[str], name: str, build: Build) -> None:
    if name not in defined:
        setattr(cls, name, _Lazy(cls, name, build))


def _set_hash(cls: type[Any], defined: frozenset[str], value: Any) -> None:
    """Set `__hash__`, unless the class defines it itself: a class with `__eq__` alone has None."""
    if "__hash__" not in defined or (cls.__dict__["__hash__"] is None and "__eq__" in defined):
        cls.__hash__ = value


def _init(cls: type[Any]) -> Callable[..., Any]:
    """Return the `__init__` of a class."""
    fields = dataclasses.fields(cls)
    names: dict[str, Any] = {"_factory": _FACTORY, "_set": _set_attribute}
    body = [line for field in fields for line in _assignment(cls, field, names)]
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    taken = [field for field in fields if field.init]
    parameters = ["self", *_parameters([field for field in taken if not field.kw_only])]
    if keywords := _parameters([field for field in taken if field.kw_only]):
        parameters += ["*", *keywords]
    lines = "".join(f"\n  {line}" for line in body or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):{lines}", names)
    result: Callable[..., Any] = names["__init__"]
    result.__module__ = cls.__module__
    result.__annotations__ = {**{field.name: field.type for field in taken}, "return": None}
    return result


def _parameters(fields: Sequence[dataclasses.Field[Any]]) -> list[str]:
    parameters = []
    for field in fields:
        if field.default is not dataclasses.MISSING:
            parameters.append(f"{field.name}=_default_{field.name}")
        elif field.default_factory is not dataclasses.MISSING:
            parameters.append(f"{field.name}=_factory")
        else:
            parameters.append(field.name)
    return parameters


def _assignment(
    cls: type[Any], field: dataclasses.Field[Any], names: dict[str, Any]
) -> Sequence[str]:
    """Return the line that sets a field. names: gets what the line uses."""
    name = value = field.name
    if field.default_factory is not dataclasses.MISSING:
        names[f"_make_{name}"] = field.default_factory
        value = f"_make_{name}()"
        if field.init:
            value = f"{value} if {name} is _factory else {name}"
    elif field.default is not dataclasses.MISSING:
        names[f"_default_{name}"] = field.default
        if not field.init:
            if "__slots__" not in cls.__dict__:
                return ()  # it is an attribute of the class
            value = f"_default_{name}"
    elif not field.init:
        return ()
    if getattr(cls, _PARAMS).frozen:
        return (f"_set(self, {name!r}, {value})",)
    return (f"self.{name} = {value}",)


def _repr(cls: type[Any]) -> Callable[..., Any]:
    return _standard(cls, "__repr__", repr=True)


def _eq(cls: type[Any]) -> Callable[..., Any]:
    return _standard(cls, "__eq__", eq=True)


def _hash(cls: type[Any]) -> Callable[..., Any]:
    return _standard(cls, "__hash__", unsafe_hash=True)


def _standard(cls: type[Any], name: str, **params: bool) -> Callable[..., Any]:
    """Return the method that `dataclasses` makes for a class with the same fields."""
    fields = dataclasses.fields(cls)
    donor = type(cls.__name__, (), {"__doc__": cls.__doc__, "__module__": cls.__module__})
    donor.__annotations__ = {field.name: Any for field in fields}
    for field in fields:
        setattr(donor, field.name, _field_like(field))
    without = {"init": False, "repr": False, "eq": False}
    result: Callable[..., Any] = getattr(
        dataclasses.dataclass(**{**without, **params})(donor), name
    )
    return result


def _field_like(field: dataclasses.Field[Any]) -> Any:
    """Return a field that is printed, compared and hashed in the same way."""
    return dataclasses.field(repr=field.repr, hash=field.hash, compare=field.compare, kw_only=True)


def _freeze(cls: type[Any], *, with_state: bool) -> None:
    """Refuse to set and delete fields, as a frozen dataclass does."""
    names = tuple(field.name for field in dataclasses.fields(cls))

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    def __getstate__(self: Any) -> list[Any]:  # noqa: N807
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: Sequence[Any]) -> None:  # noqa: N807
        for name, value in zip(names, state, strict=True):
            _set_attribute(self, name, value)

    added = [__setattr__, __delattr__]
    if with_state:
        added += [__getstate__, __setstate__]
    for function in added:
        function.__qualname__ = f"{cls.__qualname__}.{function.__name__}"
        setattr(cls, function.__name__, function)
