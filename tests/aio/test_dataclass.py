"""Dataclasses whose methods are compiled later are those of the standard library otherwise."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from kapy._aio.dataclass import dataclass

T = TypeVar("T")
MADE: list[str] = []


def plain_classes(decorate: Callable[..., Any]) -> dict[str, Any]:
    """Classes of the forms that kapy has, under one decorator."""

    @decorate
    class Plain:
        """Plain."""

        name: str
        count: int = 3

    @decorate(frozen=True, slots=True)
    class Fixed:
        """Frozen, with slots."""

        name: str
        labels: dict[str, str] = field(default_factory=dict, compare=False)
        count: int = field(default=1, repr=False)
        KIND: ClassVar[str] = "fixed"

        @property
        def upper(self) -> str:
            return self.name.upper()

    @decorate(frozen=True)
    class Open:
        """Frozen, without slots."""

        name: str = "open"
        length: int = field(init=False, default=7)

    @decorate(slots=True, kw_only=True)
    class Keywords(Generic[T]):
        """Keywords only."""

        value: T
        more: list[T] = field(default_factory=list)

    return {kind.__name__: kind for kind in (Plain, Fixed, Open, Keywords)}


def special_classes(decorate: Callable[..., Any]) -> dict[str, Any]:
    """Classes with special settings and methods, under one decorator."""

    @decorate(frozen=True, slots=True, eq=False)
    class Identity:
        """Equal to itself only."""

        name: str

    @decorate(frozen=True, slots=True)
    class Derived:
        """A field that is set after all others."""

        name: str
        size: int = field(init=False)

        def __post_init__(self) -> None:
            MADE.append(self.name)
            object.__setattr__(self, "size", len(self.name))

    @decorate(slots=True)
    class Own:
        """Methods of its own."""

        name: str
        made: int = field(init=False, default=0)

        def __repr__(self) -> str:
            return f"<{self.name}>"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    @decorate(frozen=True)
    class Without:
        pass

    @decorate(frozen=True, slots=True, order=True)
    class Ordered:
        """Ordered."""

        rank: int

    return {kind.__name__: kind for kind in (Identity, Derived, Own, Without, Ordered)}


OURS = {**plain_classes(dataclass), **special_classes(dataclass)}
STANDARD = {
    **plain_classes(dataclasses.dataclass),
    **special_classes(dataclasses.dataclass),
}
ARGUMENTS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "Plain": [(("a",), {}), (("a", 3), {}), (("b",), {"count": 4}), ((), {}), ((1, 2, 3), {})],
    "Fixed": [(("a",), {}), (("a", {"x": "y"}), {}), (("a",), {"count": 2}), ((), {"name": "b"})],
    "Open": [((), {}), (("b",), {}), ((), {"length": 3})],
    "Keywords": [((), {"value": 1}), ((), {"value": 1, "more": [2]}), ((1,), {})],
    "Identity": [(("a",), {}), (("a",), {})],
    "Derived": [(("abc",), {}), (("abc",), {}), (("d",), {"size": 1})],
    "Own": [(("a",), {}), (("b",), {})],
    "Without": [((), {}), ((1,), {})],
    "Ordered": [((1,), {}), ((2,), {})],
}


def outcome(call: Callable[[], Any]) -> Any:
    """Return the value of a call, or the text of its error."""
    try:
        return call()
    except (TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def behaviour(kind: Any, name: str) -> list[Any]:
    """Return all that distinguishes a class and its instances from others."""
    results: list[Any] = [
        str(inspect.signature(kind)),
        kind.__match_args__,
        [(item.name, item.type) for item in dataclasses.fields(kind)],
        kind.__init__.__qualname__,
        dict(kind.__init__.__annotations__),
        str(kind.__dataclass_params__),
        kind.__doc__,
    ]
    instances = []
    for positional, keywords in ARGUMENTS[name]:
        instance = outcome(partial(kind, *positional, **keywords))
        if isinstance(instance, str):
            results.append(instance)
        else:
            instances.append(instance)
    for instance in instances:
        results += [repr(instance), dataclasses.asdict(instance), isinstance(instance, kind)]
        results.append(copy.deepcopy(instance) == instance)
        results.append(dataclasses.asdict(copy.copy(instance)))
        if name != "Identity":  # its hash is its address
            results.append(outcome(partial(hash, instance)))
        # Python 3.11's own class of a frozen one with slots fails to refuse other names.
        is_fixed = "__slots__" in kind.__dict__ and kind.__dataclass_params__.frozen
        for attribute in ("name",) if is_fixed else ("name", "other"):
            changed = copy.deepcopy(instance)
            results.append(outcome(partial(setattr, changed, attribute, "z")))
            results.append(outcome(partial(delattr, changed, attribute)))
    results += [[item == other for other in instances] for item in instances]
    results.append([instance == 5 for instance in instances])
    return results


@pytest.mark.parametrize("name", OURS)
def test_a_class_behaves_as_that_of_the_standard_library(name: str) -> None:
    assert behaviour(OURS[name], name) == behaviour(STANDARD[name], name)


@dataclass(frozen=True, slots=True)
class Stored:
    """An instance that is stored."""

    name: str
    values: tuple[int, ...] = ()


def test_instances_can_be_pickled_and_replaced() -> None:
    stored = Stored("a", (1, 2))
    assert pickle.loads(pickle.dumps(stored)) == stored
    assert dataclasses.replace(stored, name="b") == Stored("b", (1, 2))


def test_methods_are_compiled_at_their_first_use() -> None:
    @dataclass(frozen=True, slots=True)
    class Late:
        """Used late."""

        name: str

    names = ("__init__", "__repr__", "__eq__", "__hash__")

    def compiled() -> list[str]:
        return [name for name in names if inspect.isfunction(Late.__dict__[name])]

    assert compiled() == []
    late = Late("a")
    assert compiled() == ["__init__"]
    assert {late: 1}[Late("a")] == 1
    assert compiled() == ["__init__", "__eq__", "__hash__"]


def test_frozen_classes_have_frozen_subclasses_of_either_kind() -> None:
    @dataclass(frozen=True)
    class Base:
        """A base."""

        name: str

    @dataclass(frozen=True)
    class Ours(Base):
        """A subclass."""

        count: int

    @dataclasses.dataclass(frozen=True)
    class Theirs(Base):
        """A subclass of a user."""

        count: int

    for kind in (Ours, Theirs):
        item = kind("a", 1)
        assert (item.name, item.count, item == kind("a", 1)) == ("a", 1, True)
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
            item.name = "b"  # type: ignore[misc]
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass"):

        @dataclasses.dataclass
        class Loose(Base):  # type: ignore[misc]
            """A subclass that is not frozen."""


def test_init_vars_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Given\.size: InitVar needs"):

        @dataclass
        class Given:
            """A class with a parameter that is no field."""

            size: dataclasses.InitVar[int]
