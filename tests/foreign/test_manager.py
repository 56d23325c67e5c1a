"""A manager in Go, written with controller-runtime, runs against a plane.

Its source is the module in `manager`. Not run where there is no Go (tests/absent.py says so), or,
unless CI=true, where the module proxy cannot be reached.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, dynamic

from tests.absent import has_go
from tests.e2e.shell import Shell
from tests.foreign.program import running, until

MODULE = Path(__file__).parent / "manager"
FINALIZER = "foreign.example.dev/manager"
BUILD_PATIENCE = 1200.0
QUICKLY = ("-gcflags=all=-N -l", "-ldflags=-s -w")
"""Optimizing and what debuggers need take a quarter of the first build."""

HERDS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "herds.example.dev"},
    "spec": {
        "group": "example.dev",
        "scope": "Namespaced",
        "names": {"plural": "herds", "kind": "Herd"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"cluster": {"type": "string"}},
                            },
                            "status": {
                                "type": "object",
                                "properties": {"machines": {"type": "integer"}},
                            },
                        },
                    }
                },
            }
        ],
    },
}

pytestmark = [
    pytest.mark.sockets,
    pytest.mark.skipif(not has_go(), reason="go is not on PATH"),
]


@pytest.fixture(scope="session")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built program. Go keeps what it compiled, so only the first build takes minutes."""
    program = tmp_path_factory.mktemp("go") / "manager"
    _go("mod", "download")
    _go("build", *QUICKLY, "-o", str(program), ".")
    return program


def _go(*arguments: str) -> None:
    done = subprocess.run(
        ["go", *arguments],
        cwd=MODULE,
        env={**os.environ, "CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=BUILD_PATIENCE,
        check=False,
    )
    if done.returncode and arguments[0] == "mod" and os.environ.get("CI") != "true":
        pytest.skip(f"Go modules cannot be had here: {done.stderr.strip()[-300:]}")
    assert done.returncode == 0, done.stderr


class Cluster:
    """A client of the objects that the manager handles."""

    def __init__(self, shell: Shell) -> None:
        api = config.new_client_from_config(str(shell.home / ".kube" / "config"))
        self.core = client.CoreV1Api(api)
        self.rbac = client.RbacAuthorizationV1Api(api)
        self.custom = client.CustomObjectsApi(api)
        self.dynamic = dynamic.DynamicClient(api)

    def herd(self, name: str) -> dict[str, Any] | None:
        listed = self.custom.list_namespaced_custom_object("example.dev", "v1", "default", "herds")
        return next((item for item in listed["items"] if item["metadata"]["name"] == name), None)

    def told(self, name: str) -> int | None:
        return ((self.herd(name) or {}).get("status") or {}).get("machines")

    def applied(self, name: str) -> dict[str, str]:
        listed = self.core.list_namespaced_config_map("default").items
        return next((item.data for item in listed if item.metadata.name == name), {})

    def make(self, name: str) -> None:
        body = {"apiVersion": "example.dev/v1", "kind": "Herd", "metadata": {"name": name}}
        body["spec"] = {"cluster": "capybara"}
        herds = ("example.dev", "v1", "default", "herds")
        until("herds are served", lambda: self._created(herds, body))

    def _created(self, herds: tuple[str, ...], body: dict[str, Any]) -> bool:
        try:
            self.custom.create_namespaced_custom_object(*herds, body)
        except client.ApiException as error:
            if error.status != 404:
                raise
            return False
        return True

    def permit(self, user: str) -> None:
        """Let somebody read Secrets."""
        role = client.V1RoleRef(
            api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="edit"
        )
        meta = client.V1ObjectMeta(name="permitted")
        subjects = [client.RbacV1Subject(kind="User", name=user)]
        binding = client.V1RoleBinding(metadata=meta, subjects=subjects, role_ref=role)
        self.rbac.create_namespaced_role_binding("default", binding)

    def delete(self, name: str) -> None:
        self.custom.delete_namespaced_custom_object("example.dev", "v1", "default", "herds", name)

    def scale(self, replicas: int) -> None:
        """Change the topology of the Cluster, which owns the replicas of its MachineDeployments."""
        capybara = ("cluster.x-k8s.io", "v1beta2", "default", "clusters", "capybara")
        topology = self.custom.get_namespaced_custom_object(*capybara)["spec"]["topology"]
        topology["workers"]["machineDeployments"][0]["replicas"] = replicas
        self.custom.patch_namespaced_custom_object(*capybara, {"spec": {"topology": topology}})


def test_a_kopf_operator_counts_applies_reports_and_hands_over(shell: Shell, manager: Path) -> None:
    cluster = Cluster(shell)
    definitions = cluster.dynamic.resources.get(kind="CustomResourceDefinition")
    definitions.create(body=HERDS)
    with running(shell, "one", manager, "-identity", "one") as program:
        cluster.make("h")
        until("the Machines are counted", lambda: cluster.told("h") == 3)
        assert cluster.applied("h") == {"machines": "3", "by": "one", "allowed": "false"}
        herd = cluster.herd("h")
        assert herd is not None
        assert herd["metadata"]["finalizers"] == [FINALIZER]

        cluster.permit("system:serviceaccount:default:default")
        cluster.scale(4)
        until("new Machines are counted", lambda: cluster.told("h") == 5)
        assert cluster.applied("h")["allowed"] == "true"

        with running(shell, "two", manager, "-identity", "two") as two:
            assert program.stop() == 0
            cluster.scale(2)
            until("the other one leads", lambda: cluster.applied("h").get("by") == "two")
            until("it counts on", lambda: cluster.told("h") == 3)
            cluster.delete("h")
            until("the Herd is let go", lambda: cluster.herd("h") is None)
            assert cluster.applied("h") == {}
            assert two.stop() == 0
    listed = cluster.core.list_namespaced_event("default", field_selector="reason=Counted").items
    assert {(event.involved_object.kind, event.message) for event in listed} >= {
        ("Herd", "3 machines"),
        ("Herd", "5 machines"),
    }
