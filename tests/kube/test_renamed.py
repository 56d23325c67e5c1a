"""Former public names work for one release, and warn."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import MISSING, fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import kapy.api
import kapy.sdk
from kapy.api.machine import Machine
from kapy.engine.cache import Informer
from kapy.engine.controller import Controller
from kapy.engine.events import Recorder
from kapy.engine.result import Result
from kapy.hooks import BEFORE_CLUSTER_CREATE
from kapy.kube import Key
from kapy.kube.renamed import RenamedMember, RenamedMethods
from kapy.sdk import Document
from kapy.sdk.former_names import MOVED, PRIVATE, RENAMED
from kapy.sdk.machine_control_plane import MachineControlPlaneContext, MachineControlPlaneProvider
from kapy.testing.extension import sample_request

HOMES = {name: home for home, names in MOVED.items() for name in names.split()}
SDK = [kapy.sdk, *(import_module(home) for home in MOVED)]
PUBLIC = {name: getattr(module, name) for module in SDK for name in module.__all__}


async def reconcile(key: Key) -> Result:
    del key
    return Result()


@pytest.mark.parametrize("old", sorted({*RENAMED, *HOMES, *PRIVATE}))
def test_a_former_name_of_the_sdk_is_the_present_one(old: str) -> None:
    new = RENAMED.get(old, old)
    assert old not in kapy.sdk.__all__
    if new in PRIVATE:
        text = f"kapy.sdk.{old} is private and goes with the next minor release"
    else:
        text = f"kapy.sdk.{old} is now {HOMES.get(new, 'kapy.sdk')}.{new}"
    with pytest.warns(DeprecationWarning, match=re.escape(text)) as warned:
        value = getattr(kapy.sdk, old)
    assert len(warned) == 1
    assert warned[0].filename == __file__
    assert value is (getattr(import_module(PRIVATE[new]), new) if new in PRIVATE else PUBLIC[new])


def test_a_former_function_is_called_under_its_present_name() -> None:
    spec = {
        "clusterName": "c",
        "bootstrap": {},
        "infrastructureRef": {"kind": "K", "name": "n", "apiGroup": "g"},
    }
    machine = kapy.api.read({"metadata": {"name": "one"}, "spec": spec}, Machine)
    written = vars(import_module("kapy.kube.meta"))["written"]
    assert kapy.api.written is written
    with pytest.warns(DeprecationWarning, match=r"kapy\.kube\.meta\.written is now called to_doc"):
        assert written(machine) == kapy.api.to_document(machine)


def test_former_functions_of_the_extension_kit_are_the_present_ones(tmp_path: Path) -> None:
    former = vars(import_module("kapy.testing.extension"))
    with pytest.warns(DeprecationWarning, match="made is now called sample_request"):
        request = former["made"](BEFORE_CLUSTER_CREATE)
    assert request == sample_request(BEFORE_CLUSTER_CREATE)
    file = tmp_path / "request.json"
    file.write_bytes(BEFORE_CLUSTER_CREATE.encode_request(request))
    with pytest.warns(DeprecationWarning, match="recorded is now called read_request"):
        assert former["recorded"](BEFORE_CLUSTER_CREATE, file) == request


@pytest.mark.parametrize(
    ("owner", "old", "new"),
    [
        (Informer, "indexed", "list_by_index"),
        (Informer, "shared", "decode_shared"),
        (Informer, "synced", "wait_for_sync"),
        (Recorder, "named", "for_component"),
    ],
)
def test_a_former_method_is_the_present_one(owner: type, old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{owner.__name__}.{old} is now called {new}"):
        assert getattr(owner, old) is getattr(owner, new)


def test_a_moved_name_is_public_in_its_module() -> None:
    public = {home: set(import_module(home).__all__) for home in MOVED}
    assert {home: set(names.split()) - public[home] for home, names in MOVED.items()} == {
        home: set() for home in MOVED
    }


def test_an_unknown_name_of_the_sdk_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(kapy.sdk, "nothing")  # noqa: B009


def test_a_program_finds_no_unknown_name_where_it_looks_up_former_ones() -> None:
    program = "import kapy.sdk; print(hasattr(kapy.sdk, 'nothing'))"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (process.stdout, process.stderr) == ("False\n", "")


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
    result = []
    for name, kind in sorted(PUBLIC.items()):
        if not (isinstance(kind, type) and is_dataclass(kind)):
            continue
        if not kind.__module__.startswith("kapy.sdk."):  # Result, Runtime: authors only read them
            continue
        for old, member in inspect.getmembers_static(kind):
            if isinstance(member, RenamedMember) and member.present in {
                field.name for field in fields(kind)
            }:
                result.append(pytest.param(kind, old, member.present, id=f"{name}.{old}"))
    return result


@pytest.mark.parametrize(("kind", "old", "new"), former_fields())
def test_a_former_field_is_accepted_and_read(kind: type[Any], old: str, new: str) -> None:
    needed = {
        field.name: "any"
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING and field.name != new
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
    kinds = [value for _, value in sorted(PUBLIC.items())]
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
