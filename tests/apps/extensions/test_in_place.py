"""Tests of calls to the extensions for in-place updates, and of the cache of their responses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kapy.apps.extensions.in_place import CACHE_SECONDS, InPlace
from kapy.engine.cache import Change
from kapy.hooks.errors import HookError
from kapy.kube import Document, Key
from tests.apps.extensions.test_coverage import infra, machine, patch
from tests.hooks.extension import Extension, config
from tests.hooks.test_caller import Plane

KEY = Key("meadow", "herd")


def machine_set(name: str, replicas: int, version: str) -> Document:
    return {
        "machineSet": {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineSet",
            "metadata": {"name": name, "uid": "u", "annotations": {}, "managedFields": []},
            "spec": {"replicas": replicas, "template": {"spec": {"version": version}}},
            "status": {"replicas": replicas},
        }
    }


def covering(**more: Any) -> Extension:
    path, added = "/spec/template/spec/version", {"op": "add", "value": "v2"}
    answer = {"machineSetPatch": patch([{**added, "path": path}])}
    return Extension(machine=("CanUpdateMachine", {}), set=("CanUpdateMachineSet", answer | more))


async def test_the_answer_for_machine_sets_is_cached_until_an_input_changes() -> None:
    extension = covering()
    plane = Plane(ext=extension)
    door = InPlace(plane.caller)

    async def calls(current: Document, desired: Document) -> int:
        before = len(extension.asked)
        assert await door.can_update_machine_set(KEY, current, desired) == []
        return len(extension.asked) - before

    old, new = machine_set("old", 3, "v1"), machine_set("new", 0, "v2")
    assert await calls(old, new) == 1
    assert await calls(machine_set("old", 1, "v1"), machine_set("new", 2, "v2")) == 0
    assert await calls(machine_set("old", 3, "v0"), new) == 1
    plane.register("ext")
    assert await calls(old, new) == 1
    await asyncio.sleep(CACHE_SECONDS)
    assert await calls(old, new) == 1
    result = extension.asked[0].request["current"]["machineSet"]
    assert result.keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert result["metadata"] == {"name": "old"}


async def test_an_invalid_answer_names_its_extension_and_does_not_count() -> None:
    extension = covering(machineSetPatch=patch({"a": 1}))
    door = InPlace(Plane(ext=extension).caller)
    old, new = machine_set("old", 3, "v1"), machine_set("new", 0, "v2")
    for _ in range(2):
        with pytest.raises(HookError, match=r'answer of extension handler "set\.ext": the patch'):
            await door.can_update_machine_set(KEY, old, new)
    assert len(extension.asked) == 2


async def test_exactly_one_extension_may_update_machines() -> None:
    machines = {
        "machine": {"apiVersion": "v", **machine(version="v1")},
        "infrastructureMachine": {"apiVersion": "v", **infra()},
    }
    nobody = InPlace(Plane().caller)
    problems = await nobody.can_update_machine(KEY, machines, machines)
    assert problems == ["no extension is registered for CanUpdateMachine"]
    old = machine_set("old", 3, "v1")
    problems = await nobody.can_update_machine_set(KEY, old, old)
    assert problems == ["no extension is registered for CanUpdateMachineSet"]
    two = Plane(a=covering(), b=covering())
    with pytest.raises(HookError, match=r"multiple CanUpdateMachine hooks \(machine.a,machine.b\)"):
        await InPlace(two.caller).can_update_machine(KEY, machines, machines)
    two.register("b", namespaceSelector={"matchLabels": {"grows": "corn"}})
    assert await InPlace(two.caller).can_update_machine(KEY, machines, machines) == []


async def test_a_machine_without_an_updater_is_reconciled_when_extensions_change() -> None:
    door, woken = InPlace(Plane().caller), list[Key]()
    door.wake(machines=woken.append)
    with pytest.raises(HookError, match="no extensions registered for UpdateMachine hook"):
        await door.update_machine(KEY, {})
    changed = Change(None, config("ext"))
    door.on_config_change(changed)
    door.on_config_change(changed)
    assert woken == [KEY]
