"""An operator written with kopf (`flocks.py`) runs against a plane."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from tests.e2e.shell import Shell
from tests.foreign.program import Program, running, until

OPERATOR = Path(__file__).parent / "flocks.py"
FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
LOOSE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

pytestmark = pytest.mark.sockets


def definition(group: str, plural: str, kind: str, **properties: Any) -> dict[str, Any]:
    """A definition of a kind; its status is a subresource if it has one."""
    version: dict[str, Any] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    if "spec" in properties:
        version["subresources"] = {"status": {}}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if "spec" in properties else "Cluster",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


FLOCKS = definition("example.dev", "flocks", "Flock", spec=LOOSE, status=LOOSE)
PEERINGS = definition("kopf.dev", "clusterkopfpeerings", "ClusterKopfPeering", status=LOOSE)


class Farm:
    """Flocks, and what became of them."""

    def __init__(self, shell: Shell) -> None:
        api = config.new_client_from_config(str(shell.home / ".kube" / "config"))
        self.core = client.CoreV1Api(api)
        self.custom = client.CustomObjectsApi(api)
        self.definitions = client.ApiextensionsV1Api(api)

    def define(self, body: dict[str, Any]) -> None:
        self.definitions.create_custom_resource_definition(body)
        name = body["metadata"]["name"]
        until(f"{name} is served", lambda: self._established(name))

    def _established(self, name: str) -> bool:
        result = self.definitions.read_custom_resource_definition(name)
        conditions = result.status.conditions or []
        return any(
            condition.type == "Established" and condition.status == "True"
            for condition in conditions
        )

    def make(self, name: str, *animals: str) -> None:
        body = {"apiVersion": "example.dev/v1", "kind": "Flock", "metadata": {"name": name}}
        body["spec"] = {"animals": list(animals)}
        self.custom.create_namespaced_custom_object(*_FLOCKS, body)

    def change(self, name: str, *animals: str) -> None:
        patch = {"spec": {"animals": list(animals)}}
        self.custom.patch_namespaced_custom_object(*_FLOCKS, name, patch)

    def delete(self, name: str) -> None:
        self.custom.delete_namespaced_custom_object(*_FLOCKS, name)

    def flock(self, name: str) -> dict[str, Any] | None:
        listed = self.custom.list_namespaced_custom_object(*_FLOCKS)["items"]
        return next((item for item in listed if item["metadata"]["name"] == name), None)

    def animals(self, name: str) -> int | None:
        return ((self.flock(name) or {}).get("status") or {}).get("animals")

    def events(self, name: str) -> set[str]:
        about = f"involvedObject.name={name}"
        listed = self.core.list_namespaced_event("default", field_selector=about).items
        return {event.reason for event in listed}

    def peers(self) -> dict[str, Any]:
        result = self.custom.get_cluster_custom_object("kopf.dev", "v1", _PEERINGS, "default")
        return dict(result.get("status") or {})


_FLOCKS = ("example.dev", "v1", "default", "flocks")
_PEERINGS = "clusterkopfpeerings"


@pytest.fixture(scope="module")
def farm(shell: Shell) -> Farm:
    farm = Farm(shell)
    farm.define(FLOCKS)
    farm.define(PEERINGS)
    peering = {"apiVersion": "kopf.dev/v1", "kind": "ClusterKopfPeering"}
    body = {**peering, "metadata": {"name": "default"}}
    farm.custom.create_cluster_custom_object("kopf.dev", "v1", _PEERINGS, body)
    return farm


def said(program: Program, word: str) -> bool:
    return word in program.log.read_text(errors="replace")


def test_handlers_follow_the_life_of_an_object(shell: Shell, farm: Farm) -> None:
    run = (sys.executable, "-m", "kopf", "run", str(OPERATOR), "--namespace", "default")
    with running(shell, "kopf", *run, "--standalone") as operator:
        farm.make("sheep", "dolly", "molly")
        until("the flock is counted", lambda: farm.animals("sheep") == 2)
        document = farm.flock("sheep")
        assert document is not None
        assert document["metadata"]["finalizers"] == [FINALIZER]
        assert document["status"]["made"] == {"first": 2}
        farm.change("sheep", "dolly", "molly", "polly")
        until("the change is counted", lambda: farm.animals("sheep") == 3)
        until("an event tells of it", lambda: "Made" in farm.events("sheep"))
        farm.delete("sheep")
        until("the flock is let go", lambda: farm.flock("sheep") is None)
        was = farm.core.read_namespaced_config_map("sheep-was", "default")
        assert was.data == {"animals": "dolly,molly,polly"}
        assert operator.stop() == 0


def test_the_operator_of_lower_priority_waits_for_the_other(shell: Shell, farm: Farm) -> None:
    run = (sys.executable, "-m", "kopf", "run", str(OPERATOR), "-A", "--peering", "default")
    with running(shell, "low", *run, "--priority", "1") as low:
        until("the first operator is announced", lambda: len(farm.peers()) == 1)
        with running(shell, "high", *run, "--priority", "2") as high:
            until("the other one is announced", lambda: len(farm.peers()) == 2)
            until("the first one pauses", lambda: said(low, "Pausing operations"))
            farm.make("geese", "nils")
            until("one of them counts", lambda: farm.animals("geese") == 1)
            assert high.stop() == 0
        until("the first one goes on", lambda: said(low, "Resuming operations"))
        farm.change("geese", "nils", "akka")
        until("it counts", lambda: farm.animals("geese") == 2)
        assert low.stop() == 0
