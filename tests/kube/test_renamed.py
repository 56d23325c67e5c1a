"""Former public names work for one release, and warn."""

from __future__ import annotations

import pytest

import kapy.sdk
from kapy.engine.controller import Controller
from kapy.engine.result import Result
from kapy.kube import Key


async def reconcile(key: Key) -> Result:
    del key
    return Result()


@pytest.mark.parametrize("old", sorted(kapy.sdk._RENAMED))
def test_a_former_name_of_the_sdk_is_the_present_one(old: str) -> None:
    new = kapy.sdk._RENAMED[old]
    assert new in kapy.sdk.__all__
    with pytest.warns(DeprecationWarning, match=f"kapy.sdk.{old} is now called {new}"):
        assert getattr(kapy.sdk, old) is getattr(kapy.sdk, new)


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
