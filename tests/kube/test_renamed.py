"""Former public names work for one release, and warn."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any

import pytest

import kapy.sdk
from kapy.engine.controller import Controller
from kapy.engine.result import Result
from kapy.kube import Key
from kapy.kube.renamed import RenamedMember, RenamedMethods
from kapy.sdk import Document, MachineControlPlaneContext, MachineControlPlaneProvider, internals


async def reconcile(key: Key) -> Result:
    del key
    return Result()


@pytest.mark.parametrize("old", sorted(kapy.sdk._RENAMED))
def test_a_former_name_of_the_sdk_is_the_present_one(old: str) -> None:
    new = kapy.sdk._RENAMED[old]
    present = kapy.sdk if new in kapy.sdk.__all__ else internals
    with pytest.warns(DeprecationWarning, match=f"kapy.sdk.{old} is now called {new}"):
        assert getattr(kapy.sdk, old) is getattr(present, new)


@pytest.mark.parametrize("name", internals.__all__)
def test_a_part_of_the_engine_leaves_the_sdk_with_a_warning(name: str) -> None:
    assert name not in kapy.sdk.__all__
    with pytest.warns(DeprecationWarning, match=f"kapy.sdk.{name} is private"):
        assert getattr(kapy.sdk, name) is getattr(internals, name)


def test_an_unknown_name_of_the_sdk_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(kapy.sdk, "nothing")  # noqa: B009


def test_a_former_argument_is_passed_under_its_present_name() -> None:
    arguments = {"hears_itself": False}
    with pytest.warns(DeprecationWarning, match=r"hears_itself=\) is now called"):
        controller = Controller("name", reconcile, **arguments)
    assert not controller._requeues_on_own_writes


def test_a_former_member_is_the_present_one() -> None:
    with pytest.warns(DeprecationWarning, match="Result.because is now called reason"):
        assert Result(None, "why").because == "why"


def former_fields() -> list[Any]:
    """Return every former field of a context or result of the SDK, with its present name."""
    found = []
    for name in kapy.sdk.__all__:
        kind = getattr(kapy.sdk, name)
        if not (isinstance(kind, type) and is_dataclass(kind)):
            continue
        if not kind.__module__.startswith("kapy.sdk."):  # Result, Runtime: authors only read them
            continue
        for old, member in inspect.getmembers_static(kind):
            if isinstance(member, RenamedMember) and member.present in {
                one.name for one in fields(kind)
            }:
                found.append(pytest.param(kind, old, member.present, id=f"{name}.{old}"))
    return found


@pytest.mark.parametrize(("kind", "old", "new"), former_fields())
def test_a_former_field_is_accepted_and_read(kind: type[Any], old: str, new: str) -> None:
    needed = {
        one.name: "any"
        for one in fields(kind)
        if one.default is MISSING and one.default_factory is MISSING and one.name != new
    }
    with pytest.warns(DeprecationWarning, match=f"is now called {new}"):
        obj = kind(**needed, **{old: "value"})
    assert getattr(obj, new) == "value"
    with pytest.warns(DeprecationWarning, match=f"is now called {new}"):
        assert getattr(obj, old) == "value"
    with pytest.warns(DeprecationWarning, match=f"is now called {new}"):
        assert getattr(replace(obj, **{old: "other"}), new) == "other"


def providers() -> list[Any]:
    """Return every former method of a public class that authors implement."""
    kinds = [getattr(kapy.sdk, name) for name in kapy.sdk.__all__]
    return [
        pytest.param(kind, old, new, id=f"{kind.__name__}.{old}")
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, RenamedMethods)
        for old, new in kind.RENAMED.items()
    ]


@pytest.mark.parametrize(("kind", "old", "new"), providers())
def test_a_provider_may_still_define_a_former_method(kind: type[Any], old: str, new: str) -> None:
    def answer(*_: object) -> str:
        return "from the author"

    others = {name: lambda *_: None for name in kind.__abstractmethods__ if name != new}
    with pytest.warns(DeprecationWarning, match=f"Author.{old} is now called {new}"):
        author = type("Author", (kind,), {**others, old: answer})
    provider = author()
    assert getattr(provider, new)() == "from the author"
    assert getattr(provider, old)() == "from the author"


class Stacks(MachineControlPlaneProvider[Any]):
    async def bootstrap_config(
        self, context: MachineControlPlaneContext[Any], *, first: bool
    ) -> Document:
        del context, first
        return {}

    async def observe(self, context: MachineControlPlaneContext[Any]) -> Any:
        del context

    def outdated_reason(self, *_: object) -> str:
        return "the reason"


def test_a_former_method_can_be_called() -> None:
    provider: Any = Stacks()
    with pytest.warns(DeprecationWarning, match="outdated is now called outdated_reason"):
        assert provider.outdated() == "the reason"
