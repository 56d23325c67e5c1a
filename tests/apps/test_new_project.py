"""Projects that are begun: names, folders, and what is written."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from pathlib import Path
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.api.extension_config import ExtensionConfig
from kapy.apps.all_in_one import management_plane
from kapy.apps.extension_server.project import make_extension
from kapy.apps.https.shared_certificate import SharedCertificate
from kapy.apps.new_project import CannotMake
from kapy.client.client import Client
from kapy.kube import Key
from kapy.kube.errors import Forbidden
from kapy.kube.http import User
from kapy.kube.names import DEPLOYMENTS, NAMESPACES, SECRETS, SERVICES, Resource
from kapy.kube.yaml import load_all
from kapy.testing.story import Story
from tests.hooks.extension import Network
from tests.stories.test_extensions import OPEN

RBAC = "rbac.authorization.k8s.io"
RESOURCES = (
    NAMESPACES,
    DEPLOYMENTS,
    SERVICES,
    ExtensionConfig.RESOURCE,
    Resource("", "v1", "serviceaccounts", "ServiceAccount"),
    Resource(RBAC, "v1", "roles", "Role"),
    Resource(RBAC, "v1", "rolebindings", "RoleBinding"),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
)


@pytest.mark.parametrize("name", ["", "Gate", "gate_1", "-gate", "gate-", "1gate", 41 * "g", "./g"])
def test_unusable_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(CannotMake, match="cannot be the name of a project"):
        make_extension(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    for folder in (tmp_path, mine):
        with pytest.raises(CannotMake, match="is there already; name a new folder with --folder"):
            make_extension("gate", folder)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_new_extension_has_few_permissions(tmp_path: Path) -> None:
    """A new extension may only create Secrets, and read and update its own Secret."""
    make_extension("gate", tmp_path / "gate")
    text = (tmp_path / "gate" / "runtime-extension-components.yaml").read_text()
    objects = {item["kind"]: item for item in load_all(text, "components")}
    assert objects["Role"]["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": ["gate-tls"],
            "verbs": ["get", "list", "watch", "update"],
        },
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
    ]
    assert not {"ClusterRole", "ClusterRoleBinding"} & set(objects)
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (container["name"], objects["Deployment"]["spec"]["replicas"]) == ("manager", 2)
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["securityContext"]["runAsNonRoot"] is True
    annotations = objects["ExtensionConfig"]["metadata"]["annotations"]
    secret = annotations["runtime.cluster.x-k8s.io/inject-ca-from-secret"]
    assert f"--tls-secret={secret}" in container["args"]


async def test_the_permissions_of_a_new_extension_suffice(tmp_path: Path) -> None:
    """On a server with RBAC: replicas with the rights of the release share an authority."""
    make_extension("gate", tmp_path / "gate")
    text = (tmp_path / "gate" / "runtime-extension-components.yaml").read_text()
    clock = loop_clock()
    async with management_plane(OPEN, clock=clock, random=Random(0), post=Network()) as plane:
        await Story(plane.client, RESOURCES).create(load_all(text, "components"))
        account = User(
            "system:serviceaccount:gate-system:gate",
            ("system:serviceaccounts", "system:authenticated"),
        )
        client = Client(plane.server.transport(account))
        key = Key("gate-system", "gate-tls")
        certificate, other = (
            SharedCertificate(client, key, ["gate.gate-system.svc"], clock, Random(seed))
            for seed in range(2)
        )
        await certificate.make_valid()
        await other.make_valid()
        async with run_services(one=certificate.keep, other=other.keep):
            await asyncio.sleep(5)
            before = (await plane.client.get(SECRETS, key))["data"]
            await plane.client.delete(SECRETS, key)
            await asyncio.sleep(60)
            assert (await plane.client.get(SECRETS, key))["data"] == before
        config = await plane.client.get(ExtensionConfig, Key("", "gate"))
        assert config.spec.client_config.ca_bundle == b64encode(certificate.ca).decode()
        with pytest.raises(Forbidden):
            await client.get(SECRETS, Key("gate-system", "another"))
