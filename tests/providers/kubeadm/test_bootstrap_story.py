"""Boot data: who may run init, how the others join, and what keeps a machine waiting."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.times import moment, stamp
from kapy.kube import Document, Key
from kapy.kube.boot import RunCommand, WriteFile, read_boot_data
from kapy.kube.errors import NotFound
from kapy.kube.meta import OwnerReference
from kapy.kube.names import CONFIG_MAPS, EVENTS, SECRETS
from kapy.kube.pki import KeyPair, new_ca, new_key, public_key
from kapy.providers.kubeadm.bootstrap.controller import add_to
from kapy.remote.kubeconfig_secret import kubeconfig_secret
from kapy.remote.secrets import certificate_secret, key_pair
from tests.providers.kubeadm.plane import Plane, running, settled

CLUSTER = Key("default", "c1")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LABELS = {"cluster.x-k8s.io/cluster-name": "c1"}
CONTROL_PLANE = {**LABELS, "cluster.x-k8s.io/control-plane": ""}
EC: dict[str, Any] = {"clusterConfiguration": {"encryptionAlgorithm": "ECDSA-P256"}}
WAITING = "Waiting for Cluster control plane to be initialized"


@pytest_asyncio.fixture
async def plane() -> AsyncIterator[Plane]:
    async with running(lambda plane: add_to(plane.runtime, plane.remote)) as plane:
        yield plane


async def cluster(plane: Plane, *, ready: bool = True, initialized: bool = False) -> None:
    """The cluster c1, which has no control plane object: its machines stand for themselves."""
    time = stamp(plane.clock())
    condition = {
        "type": "ControlPlaneInitialized",
        "status": "True" if initialized else "False",
        "reason": "R",
        "message": "",
        "lastTransitionTime": time,
    }
    status = {
        "initialization": {"infrastructureProvisioned": ready},
        "conditions": [condition],
    }
    try:
        await plane.client.get(Cluster, CLUSTER)
    except NotFound:
        document = {
            "apiVersion": Cluster.RESOURCE.api_version,
            "kind": "Cluster",
            "metadata": {"name": CLUSTER.name, "namespace": CLUSTER.namespace},
            "spec": {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}},
        }
        await plane.client.create(Cluster.RESOURCE, document)
    await plane.client.patch(Cluster.RESOURCE, CLUSTER, {"status": status}, subresource="status")


async def machine(
    plane: Plane, name: str, *, control_plane: bool = False, **spec: Any
) -> KubeadmConfig:
    """A Machine and its KubeadmConfig."""
    labels = CONTROL_PLANE if control_plane else LABELS
    reference = {"apiGroup": KubeadmConfig.RESOURCE.group, "kind": "KubeadmConfig", "name": name}
    (machine_object,) = await plane.create(
        {
            "apiVersion": Machine.RESOURCE.api_version,
            "kind": "Machine",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {
                "clusterName": "c1",
                "version": "v1.34.0",
                "bootstrap": {"configRef": reference},
                "infrastructureRef": {"apiGroup": "i", "kind": "FakeMachine", "name": name},
            },
        }
    )
    owner = {
        "apiVersion": Machine.RESOURCE.api_version,
        "kind": "Machine",
        "name": name,
        "uid": machine_object["metadata"]["uid"],
        "controller": True,
    }
    metadata = {"name": name, "namespace": "default", "labels": labels, "ownerReferences": [owner]}
    kind = {"apiVersion": KubeadmConfig.RESOURCE.api_version, "kind": "KubeadmConfig"}
    await plane.create({**kind, "metadata": metadata, "spec": spec or EC})
    await settled()
    return await config_of(plane, name)


async def config_of(plane: Plane, name: str) -> KubeadmConfig:
    return await plane.client.get(KubeadmConfig, Key("default", name))


async def has_node(plane: Plane, name: str) -> None:
    status = {"nodeRef": {"name": name}}
    key = Key("default", name)
    await plane.client.patch(Machine.RESOURCE, key, {"status": status}, subresource="status")


async def certificates(plane: Plane, *, labelled: bool = True, access: bool = True) -> KeyPair:
    """A cluster that is there: its certificates, and the way to it. Its CA."""
    ca = new_ca("kubernetes", now=NOW, algorithm="ECDSA-P256")
    key = new_key("ECDSA-P256")
    pairs = {
        "ca": ca,
        "etcd": new_ca("kubernetes", now=NOW, algorithm="ECDSA-P256"),
        "proxy": new_ca("kubernetes", now=NOW, algorithm="ECDSA-P256"),
        "sa": KeyPair(public_key(key), key),
    }
    for purpose, pair in pairs.items():
        secret = certificate_secret(CLUSTER, purpose, pair)
        if not labelled:
            del secret["metadata"]["labels"]
        await plane.client.create(SECRETS, secret)
    if access:
        await give_access(plane, ca)
    return ca


async def give_access(plane: Plane, ca: KeyPair) -> None:
    owner = OwnerReference(api_version="a/v1", kind="K", name="n", uid="u")
    server = "https://10.0.0.1:6443"
    now = plane.clock()
    secret = kubeconfig_secret(CLUSTER, server, ca, owner, now=now, algorithm="ECDSA-P256")
    await plane.client.create(SECRETS, secret)


def told(config: KubeadmConfig, type_: str = "DataSecretAvailable") -> tuple[str, str]:
    (item,) = [condition for condition in config.status.conditions if condition.type == type_]
    return item.status, item.message


async def until(plane: Plane, name: str, holds: Callable[[KubeadmConfig], bool]) -> KubeadmConfig:
    deadline = asyncio.get_running_loop().time() + 60
    while True:
        config = await config_of(plane, name)
        if holds(config):
            return config
        assert asyncio.get_running_loop().time() < deadline, config.status
        await asyncio.sleep(0.1)


async def user_data(plane: Plane, name: str) -> str:
    secret = await plane.client.get(SECRETS, Key("default", name))
    return b64decode(secret["data"]["value"]).decode()


async def tokens(plane: Plane) -> list[Document]:
    """The bootstrap tokens in the workload cluster."""
    result = (await plane.workload.list(SECRETS, "kube-system")).items
    return [dict(item) for item in result if item["type"] == "bootstrap.kubernetes.io/token"]


def end_of(token: Document) -> datetime:
    return moment(b64decode(token["data"]["expiration"]).decode())


async def test_nothing_happens_before_the_infrastructure_is_there(plane: Plane) -> None:
    await cluster(plane, ready=False)
    config = await machine(plane, "cp1", control_plane=True, **EC)
    assert told(config) == ("False", "Waiting for Cluster status.infrastructureReady to be true")
    await cluster(plane)
    config = await until(plane, "cp1", lambda item: bool(item.status.data_secret_name))
    assert told(config, "Ready") == ("True", "")


async def test_exactly_one_machine_runs_init(plane: Plane) -> None:
    await cluster(plane)
    first, second = await asyncio.gather(
        machine(plane, "cp1", control_plane=True, **EC),
        machine(plane, "cp2", control_plane=True, **EC),
    )
    winner, loser = sorted((first, second), key=lambda item: not item.status.data_secret_name)
    assert (winner.status.data_secret_name, loser.status.data_secret_name) == (
        winner.metadata.name,
        "",
    )
    assert told(loser) == ("False", WAITING)
    lock = await plane.client.get(CONFIG_MAPS, Key("default", "c1-lock"))
    assert lock["data"]["lock-information"] == f'{{"machineName":"{winner.metadata.name}"}}'
    assert "kubeadm init" in await user_data(plane, winner.metadata.name)


async def test_the_lock_of_a_deleted_machine_is_free(plane: Plane) -> None:
    await cluster(plane)
    first = await machine(plane, "cp1", control_plane=True, **EC)
    assert first.status.data_secret_name == "cp1"
    await machine(plane, "cp2", control_plane=True, **EC)
    await plane.client.delete(Machine, Key("default", "cp1"))
    await until(plane, "cp2", lambda item: bool(item.status.data_secret_name))
    lock = await plane.client.get(CONFIG_MAPS, Key("default", "c1-lock"))
    assert lock["data"]["lock-information"] == '{"machineName":"cp2"}'


async def test_a_machine_that_took_the_lock_before_a_crash_continues(plane: Plane) -> None:
    await cluster(plane)
    information = {"lock-information": '{"machineName":"cp1"}'}
    metadata = {"name": "c1-lock", "namespace": "default", "labels": LABELS}
    lock = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": information}
    await plane.client.create(CONFIG_MAPS, lock)
    await machine(plane, "cp1", control_plane=True, **EC)
    await machine(plane, "cp0", control_plane=True, **EC)
    assert (await config_of(plane, "cp1")).status.data_secret_name == "cp1"
    assert told(await config_of(plane, "cp0")) == ("False", WAITING)


async def test_certificates_of_a_user_are_used(plane: Plane) -> None:
    await cluster(plane)
    ca = await certificates(plane, labelled=False, access=False)
    config = await machine(plane, "cp1", control_plane=True, **EC)
    assert config.status.data_secret_name == "cp1"
    secret = await plane.client.get(SECRETS, Key("default", "c1-ca"))
    assert key_pair(secret) == ca
    indented = ca.certificate.decode().strip().replace("\n", "\n      ")
    assert indented in await user_data(plane, "cp1")


async def test_a_worker_waits_until_the_cluster_is_initialized(plane: Plane) -> None:
    await cluster(plane)
    await certificates(plane)
    config = await machine(plane, "w1", **EC)
    assert told(config) == ("False", WAITING)
    assert await tokens(plane) == []
    await cluster(plane, initialized=True)
    config = await until(plane, "w1", lambda item: bool(item.status.data_secret_name))
    (token,) = await tokens(plane)
    discovery = config.spec.join_configuration.discovery.bootstrap_token
    token_id = b64decode(token["data"]["token-id"]).decode()
    assert token["metadata"]["name"] == f"bootstrap-token-{token_id}"
    assert discovery.token.startswith(f"{token_id}.")
    assert discovery.api_server_endpoint == "10.0.0.1:6443"
    assert len(discovery.ca_cert_hashes) == 1
    text = await user_data(plane, "w1")
    assert "kubeadm join" in text
    assert discovery.token in text
    assert "BEGIN" not in text  # a worker is given no keys
    assert "node.cluster.x-k8s.io/uninitialized" in text
    assert "&& echo success > /run/cluster-api/bootstrap-success.complete" in text
    secret = await plane.client.get(SECRETS, Key("default", "w1"))
    assert secret["type"] == "cluster.x-k8s.io/secret"


async def test_a_second_control_plane_machine_joins(plane: Plane) -> None:
    await cluster(plane)
    await machine(plane, "cp1", control_plane=True, **EC)
    await machine(plane, "cp2", control_plane=True, **EC)
    secret = await plane.client.get(SECRETS, Key("default", "c1-ca"))
    await give_access(plane, key_pair(secret))
    await cluster(plane, initialized=True)
    config = await until(plane, "cp2", lambda item: bool(item.status.data_secret_name))
    assert config.spec.join_configuration.control_plane is not None
    text = await user_data(plane, "cp2")
    assert "kubeadm join" in text
    assert text.count("BEGIN EC PRIVATE KEY") == 4
    locks = (await plane.client.list(CONFIG_MAPS, "default")).items
    assert [lock for lock in locks if lock["metadata"]["name"] == "c1-lock"] == []


async def test_a_token_lives_until_the_node_is_there(plane: Plane) -> None:
    await cluster(plane, initialized=True)
    await certificates(plane)
    await machine(plane, "w1", **EC)
    (token,) = await tokens(plane)
    assert end_of(token) - plane.clock() <= timedelta(minutes=15)
    for _ in range(4):
        await asyncio.sleep(600)
        (again,) = await tokens(plane)
        assert end_of(again) > plane.clock()
    assert again["metadata"]["name"] == token["metadata"]["name"]
    assert again["data"]["token-secret"] == token["data"]["token-secret"]
    await has_node(plane, "w1")
    await asyncio.sleep(3600)
    (last,) = await tokens(plane)
    assert end_of(last) < plane.clock()


async def test_a_cluster_that_cannot_be_reached_keeps_a_worker_waiting(plane: Plane) -> None:
    await cluster(plane, initialized=True)
    ca = await certificates(plane, access=False)
    config = await machine(plane, "w1", **EC)
    assert config.status.data_secret_name == ""
    before = len(plane.counted.requests)
    await asyncio.sleep(600)
    assert plane.counted.requests[before:] == []  # what it waits for is watched
    await give_access(plane, ca)
    config = await until(plane, "w1", lambda item: bool(item.status.data_secret_name))
    assert told(config, "Ready") == ("True", "")


async def test_boot_data_can_be_ignition(plane: Plane) -> None:
    await cluster(plane)
    additions = {"additionalConfig": "systemd: {units: [{name: a.service, mask: true}]}"}
    ignition = {"containerLinuxConfig": additions}
    await machine(plane, "cp1", control_plane=True, **EC, format="ignition", ignition=ignition)
    await until(plane, "cp1", lambda item: bool(item.status.data_secret_name))
    secret = await plane.client.get(SECRETS, Key("default", "cp1"))
    assert b64decode(secret["data"]["format"]) == b"ignition"
    plan = read_boot_data(b64decode(secret["data"]["value"]), "ignition")
    written = {step.path: step for step in plan.steps if isinstance(step, WriteFile)}
    assert b"kubeadm init --config /etc/kubeadm.yml" in written["/etc/kubeadm.sh"].content
    assert b"kind: InitConfiguration" in written["/etc/kubeadm.yml"].content
    assert written["/etc/kubernetes/pki/ca.key"].mode == 0o600
    commands = [step.argv for step in plan.steps if isinstance(step, RunCommand)]
    assert ("systemctl", "enable", "--now", "kubeadm.service") in commands
    assert commands[0][-1] == "/etc/systemd/system/a.service"


async def test_ignition_that_cannot_be_made_is_an_event(plane: Plane) -> None:
    await cluster(plane)
    additions = {"additionalConfig": "storage:\n  files:\n  - path: x\n"}
    ignition = {"containerLinuxConfig": additions}
    config = await machine(
        plane, "cp1", control_plane=True, **EC, format="ignition", ignition=ignition
    )
    assert config.status.data_secret_name == ""
    events = (await plane.client.list(EVENTS, "default")).items
    (told_of,) = {event["message"] for event in events if event["reason"] == "BootstrapDataFailed"}
    assert told_of == (
        "spec.ignition.containerLinuxConfig.additionalConfig:"
        " storage.files[0].path: 'x' is not an absolute path"
    )


async def test_a_worker_must_not_join_the_control_plane(plane: Plane) -> None:
    await cluster(plane, initialized=True)
    await certificates(plane)
    config = await machine(plane, "w1", joinConfiguration={"controlPlane": {}})
    assert config.status.data_secret_name == ""
    names = {item["metadata"]["name"] for item in (await plane.client.list(SECRETS)).items}
    assert "c1-ca" in names
    assert "w1" not in names


async def test_a_paused_cluster_gives_no_boot_data(plane: Plane) -> None:
    await cluster(plane)
    await plane.client.patch(Cluster.RESOURCE, CLUSTER, {"spec": {"paused": True}})
    config = await machine(plane, "cp1", control_plane=True, **EC)
    assert told(config, "Paused")[0] == "True"
    assert config.status.data_secret_name == ""
    await plane.client.patch(Cluster.RESOURCE, CLUSTER, {"spec": {"paused": False}})
    config = await until(plane, "cp1", lambda item: bool(item.status.data_secret_name))
    assert told(config, "Paused")[0] == "False"


async def test_the_data_secret_gets_its_owner_back(plane: Plane) -> None:
    await cluster(plane)
    config = await machine(plane, "cp1", control_plane=True, **EC)
    key = config.key
    nobody: Document = {"metadata": {"ownerReferences": None}}
    await plane.client.patch(SECRETS, key, nobody)
    touched = {"metadata": {"annotations": {"a": "b"}}}
    await plane.client.patch(KubeadmConfig.RESOURCE, key, touched)
    await settled()
    secret = await plane.client.get(SECRETS, key)
    (owner,) = secret["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "KubeadmConfig",
        config.metadata.uid,
        True,
    )


async def test_a_config_that_is_changed_in_place_keeps_its_boot_data(plane: Plane) -> None:
    await cluster(plane)
    before = await machine(plane, "cp1", control_plane=True, **EC)
    data = await user_data(plane, "cp1")
    files = {"spec": {"files": [{"path": "/etc/herd", "content": "meadow"}]}}
    await plane.client.patch(KubeadmConfig.RESOURCE, before.key, files)
    await settled()
    after = await config_of(plane, "cp1")
    assert [file.path for file in after.spec.files] == ["/etc/herd"]
    assert after.status.observed_generation > before.status.observed_generation
    assert await user_data(plane, "cp1") == data


async def test_a_lost_secret_name_is_taken_from_the_machine(plane: Plane) -> None:
    await cluster(plane, ready=False)
    await machine(plane, "w1", **EC)
    spec = {"bootstrap": {"dataSecretName": "kept"}}
    await plane.client.patch(Machine.RESOURCE, Key("default", "w1"), {"spec": spec})
    await cluster(plane)
    config = await until(plane, "w1", lambda item: bool(item.status.data_secret_name))
    assert config.status.data_secret_name == "kept"
    assert config.status.initialization.data_secret_created


def legacy(config: KubeadmConfig) -> dict[str, tuple[str, str, str, str]]:
    """The conditions that v1beta1 sees, by type."""
    deprecated = config.status.deprecated
    assert deprecated is not None
    assert deprecated.v1beta1 is not None
    return {
        condition.type: (condition.status, condition.reason, condition.severity, condition.message)
        for condition in deprecated.v1beta1.conditions
    }


async def test_v1beta1_conditions_are_reported(plane: Plane) -> None:
    await cluster(plane, ready=False)
    config = await machine(plane, "w1", files=[{"path": "/f", "contentFrom": _secret("none")}])
    waiting = ("False", "WaitingForClusterInfrastructure", "Info", "")
    assert legacy(config) == {"Ready": waiting, "DataSecretAvailable": waiting}
    await certificates(plane)
    await cluster(plane, initialized=True)
    await settled(5)
    failed = (
        "False",
        "DataSecretGenerationFailed",
        "Warning",
        "failed to resolve file source: secret not found: default/none",
    )
    assert legacy(await config_of(plane, "w1")) == {
        "Ready": failed,
        "CertificatesAvailable": ("True", "", "", ""),
        "DataSecretAvailable": failed,
    }
    secret = {"metadata": {"name": "none", "namespace": "default"}, "data": {"k": "aGVsbG8="}}
    await plane.client.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", **secret})
    config = await until(plane, "w1", lambda item: bool(item.status.data_secret_name))
    assert {item[:2] for item in legacy(config).values()} == {("True", "")}


def _secret(name: str) -> Document:
    return {"secret": {"name": name, "key": "k"}}


async def test_a_joining_machine_reports_an_unreachable_cluster(
    plane: Plane, caplog: pytest.LogCaptureFixture
) -> None:
    plane.reachable = False
    await cluster(plane, initialized=True)
    await certificates(plane)
    for name, control_plane in (("w1", False), ("cp2", True)):
        await machine(plane, name, control_plane=control_plane, format="cloud-config")
        config = await until(plane, name, lambda item: "connection" in str(item.status.conditions))
        status, message = told(config)
        assert status == "False"
        assert message.startswith("Waiting for the connection to the workload cluster: ")
        assert "the workload cluster is not up" in message
    await asyncio.sleep(3600)
    logged = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert sum("Waiting for the connection" in item for item in logged) == 2
    plane.reachable = True
    for name in ("w1", "cp2"):
        await until(plane, name, lambda item: told(item)[0] == "True")
