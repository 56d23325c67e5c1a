"""Whether the patches of an extension make all of a change, and what is said where they do not."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from kapy.apps.extensions.coverage import (
    uncovered_by_machine_set_update,
    uncovered_by_machine_update,
)
from kapy.hooks.errors import HookError
from kapy.hooks.messages.in_place_update import (
    CanUpdateMachineResponse,
    CanUpdateMachineSetResponse,
)
from kapy.kube import Document
from kapy.kube.model import decode

SECRET = "c2VjcmV0"


def machine(**spec: Any) -> Document:
    return {"kind": "Machine", "metadata": {"name": "m"}, "spec": spec}


def config(**spec: Any) -> Document:
    return {"kind": "KubeadmConfig", "metadata": {"name": "m"}, "spec": spec}


def infra(**spec: Any) -> Document:
    return {"kind": "DevMachine", "metadata": {"name": "m"}, "spec": spec}


def objects(
    of_machine: Document | None = None,
    of_config: Document | None = None,
    of_infra: Document | None = None,
) -> Document:
    return {
        "machine": machine(**(of_machine or {})),
        "bootstrapConfig": config(**(of_config or {})),
        "infrastructureMachine": infra(**(of_infra or {})),
    }


def patch(content: Any, kind: str = "JSONPatch") -> Document:
    raw = content if isinstance(content, bytes) else msgspec.json.encode(content)
    return {"patchType": kind, "patch": base64.b64encode(raw).decode()}


def merge(content: Any) -> Document:
    return patch(content, "JSONMergePatch")


def answer(**patches: Document) -> CanUpdateMachineResponse:
    return decode(
        {f"{name}Patch": document for name, document in patches.items()}, CanUpdateMachineResponse
    )


ADDED = patch([{"op": "add", "path": "/spec/memory", "value": 4}])

COVERED = {
    "nothing differs, nothing is said": (objects(), objects(), {}),
    "a JSON patch": (objects(), objects(of_infra={"memory": 4}), {"infrastructureMachine": ADDED}),
    "a merge patch": (
        objects(of_infra={"memory": 2, "disk": 1}),
        objects(of_infra={"memory": 4}),
        {"infrastructureMachine": merge({"spec": {"memory": 4, "disk": None}})},
    ),
    "all three": (
        objects({"version": "v1"}, {"a": 1}, {"memory": 2}),
        objects({"version": "v2"}, {"a": 2}, {"memory": 4}),
        {
            "machine": merge({"spec": {"version": "v2"}}),
            "bootstrapConfig": merge({"spec": {"a": 2}}),
            "infrastructureMachine": ADDED,
        },
    ),
    "what owners change in place anyway": (
        objects({"minReadySeconds": 1, "taints": [1], "readinessGates": [], "deletion": {"a": 1}}),
        objects({"clusterName": "c", "providerID": "p", "bootstrap": {}, "infrastructureRef": {}}),
        {},
    ),
    "an empty failure domain is none": (objects({"failureDomain": ""}), objects(), {}),
    "an empty patch of an empty kind": (
        objects(),
        objects(),
        {"machine": {"patchType": "", "patch": ""}},
    ),
    "an object that is not there on one side": (
        {"machine": machine(), "infrastructureMachine": infra()},
        objects(of_config={"a": 1}),
        {},
    ),
    "what else it patches is not looked at": (
        objects(),
        objects(of_infra={"memory": 4}),
        {
            "infrastructureMachine": merge(
                {
                    "kind": "Other",
                    "metadata": {"name": "x", "labels": {"a": "b"}},
                    "status": {"ready": True},
                    "spec": {"memory": 4},
                }
            )
        },
    ),
}

LEFT: dict[str, tuple[Document, Document, dict[str, Document], str]] = {
    "nothing is said": (
        objects(of_infra={"memory": 2}),
        objects(of_infra={"memory": 4}),
        {},
        "DevMachine cannot be updated in-place: spec.memory",
    ),
    "an empty list and an empty object": (
        objects({"version": "v1"}, of_infra={"memory": 2}),
        objects({"version": "v2"}, of_infra={"memory": 4}),
        {"machine": merge({}), "infrastructureMachine": patch([])},
        "Machine cannot be updated in-place: spec.version; "
        "DevMachine cannot be updated in-place: spec.memory",
    ),
    "too little": (
        objects(of_config={"files": []}, of_infra={"memory": 2}),
        objects(of_config={"files": [{"content": SECRET}]}, of_infra={"memory": 4}),
        {"infrastructureMachine": ADDED},
        "KubeadmConfig cannot be updated in-place: spec.files",
    ),
    "too much": (
        objects(),
        objects(of_infra={"memory": 4}),
        {"infrastructureMachine": merge({"spec": {"memory": 4, "disk": 1}})},
        "DevMachine cannot be updated in-place: spec.disk",
    ),
    "another failure domain": (
        objects({"failureDomain": "a"}),
        objects({"failureDomain": "b"}),
        {"machine": merge({"metadata": {"labels": {"failureDomain": "b"}}})},
        "Machine cannot be updated in-place: spec.failureDomain",
    ),
    "a spec that is taken away stays": (
        objects(of_infra={"memory": 2}),
        objects(of_infra={"memory": 4}),
        {"infrastructureMachine": patch([{"op": "remove", "path": "/spec"}])},
        "DevMachine cannot be updated in-place: spec.memory",
    ),
    "a spec that is no object": (
        objects(of_infra={"memory": 2}),
        objects({"version": "v2"}, of_infra={"memory": 4}),
        {"infrastructureMachine": merge({"spec": 7}), "machine": merge({"spec": [1]})},
        "Machine cannot be updated in-place: spec; DevMachine cannot be updated in-place: spec",
    ),
    "many fields": (
        objects(),
        objects(of_infra={f"f{number}": 1 for number in range(7)}),
        {},
        "DevMachine cannot be updated in-place: "
        "spec.f0, spec.f1, spec.f2, spec.f3, spec.f4 and 2 more",
    ),
    "deep inside": (
        objects(of_infra={"vm": {"cpu": 1, "memory": 2}}),
        objects(of_infra={"vm": {"cpu": 1, "memory": 4}}),
        {},
        "DevMachine cannot be updated in-place: spec.vm.memory",
    ),
}

UNUSABLE = {
    "no kind of patch": ({"patchType": "", "patch": "W10="}, "patchType is not set"),
    "another kind": (patch([], "Strategic"), 'patchType is "Strategic"; it can be JSONPatch or'),
    "no JSON": (patch(b"{"), "does not apply"),
    "no list": (patch({"a": 1}), "a JSON patch is a list of operations"),
    "no object": (merge([1]), "a JSON merge patch is an object"),
    "no such field": (
        patch([{"op": "replace", "path": "/spec/nothing", "value": SECRET}]),
        "/spec/nothing",
    ),
    "an unknown operation": (patch([{"op": "become", "path": "/spec"}]), '"become" is no'),
}


@pytest.mark.parametrize("case", COVERED)
def test_a_patch_covers_a_change(case: str) -> None:
    current, desired, patches = COVERED[case]
    assert uncovered_by_machine_update(current, desired, answer(**patches)) == []


@pytest.mark.parametrize("case", LEFT)
def test_uncovered_changes_are_reported(case: str) -> None:
    current, desired, patches, why = LEFT[case]
    rest = uncovered_by_machine_update(current, desired, answer(**patches))
    assert "; ".join(rest) == why


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_patch_is_refused(case: str) -> None:
    patch, why = UNUSABLE[case]
    with pytest.raises(HookError) as refused:
        uncovered_by_machine_update(objects(), objects(), answer(infrastructureMachine=patch))
    assert str(refused.value).startswith("the patch of the DevMachine does not apply: ")
    assert why in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_changed_template_counts_by_its_spec_only() -> None:
    def side(replicas: int, version: str, memory: int) -> Document:
        inner = {"spec": {"template": {"spec": {"version": version, "minReadySeconds": replicas}}}}
        outer = {"spec": {"template": {"spec": {"memory": memory}}, "note": replicas}}
        inner["spec"]["replicas"] = replicas  # type: ignore[assignment]
        return {
            "machineSet": {"kind": "MachineSet", **inner},
            "infrastructureMachineTemplate": {"kind": "DevMachineTemplate", **outer},
        }

    path = "/spec/template/spec"
    response = decode(
        {
            "machineSetPatch": patch([{"op": "add", "path": f"{path}/version", "value": "v2"}]),
            "infrastructureMachineTemplatePatch": merge(
                {"spec": {"template": {"spec": {"memory": 4}}}}
            ),
        },
        CanUpdateMachineSetResponse,
    )
    current, desired = side(1, "v1", 2), side(3, "v2", 4)
    assert uncovered_by_machine_set_update(current, desired, response) == []
    assert uncovered_by_machine_set_update(current, desired, CanUpdateMachineSetResponse()) == [
        "MachineSet cannot be updated in-place: spec.template.spec.version",
        "DevMachineTemplate cannot be updated in-place: spec.template.spec.memory",
    ]
