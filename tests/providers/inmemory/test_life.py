"""The life of in-memory clusters, as stories on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.kube import Document, Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import Request
from kapy.kube.names import (
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
    Resource,
)
from kapy.providers.inmemory.machines import BOOTSTRAPPED
from kapy.remote.secrets import CLUSTER_CA, certificate_secret
from kapy.testing.provider_bench import key
from tests.providers.inmemory.plane import (
    CLUSTERS,
    MACHINES,
    UPSTREAM,
    Plane,
    conditions,
    dev_cluster,
    dev_machine,
    in_memory_plane,
    is_ready,
    settled,
)

MACHINE = Machine.RESOURCE


@pytest_asyncio.fixture
async def plane() -> AsyncIterator[Plane]:
    async with in_memory_plane() as result:
        yield result


async def machine(plane: Plane, name: str) -> Document:
    document = await plane.bench.get(MACHINES, name)
    assert document is not None
    return document


async def test_a_cluster_gets_an_address_of_its_own(plane: Plane) -> None:
    blue, red = await plane.cluster("blue"), await plane.cluster("red")
    endpoints = [document["spec"]["controlPlaneEndpoint"] for document in (blue, red)]
    assert {endpoint["port"] for endpoint in endpoints} == {20000}
    assert len({endpoint["host"] for endpoint in endpoints}) == 2
    assert all(endpoint["host"].startswith("127.") for endpoint in endpoints)
    assert blue["metadata"]["finalizers"] == ["dockercluster.infrastructure.cluster.x-k8s.io"]
    assert blue["metadata"]["annotations"] == {
        "inmemorycluster.infrastructure.cluster.x-k8s.io/listener": "default/blue"
    }
    assert conditions(blue) == {"Paused": ("False", "NotPaused")}


async def test_a_control_plane_machine_starts_step_by_step_in_upstreams_time(plane: Plane) -> None:
    await plane.cluster("blue")
    await plane.machine("blue", "cp", dev_machine(UPSTREAM), control_plane=True)
    messages_over_time: list[dict[str, str]] = []
    start = asyncio.get_running_loop().time()
    times: list[float] = []
    while True:
        document = await plane.bench.get(MACHINES, "cp")
        messages = {type_: reason for type_, (_, reason) in conditions(document or {}).items()}
        messages.pop("Paused", None)
        messages.pop("Ready", None)
        if messages and (not messages_over_time or messages_over_time[-1] != messages):
            messages_over_time.append(messages)
            times.append(asyncio.get_running_loop().time() - start)
        if document is not None and is_ready(document):
            break
        await asyncio.sleep(0.1)
    vm, node = "WaitingForVMProvisioned", "WaitingForNodeProvisioned"
    wait, done = "WaitingForStartupTimeout", "Provisioned"
    parts = ("VMProvisioned", "NodeProvisioned", "EtcdProvisioned", "APIServerProvisioned")
    assert messages_over_time == [
        dict(zip(parts, (wait, vm, vm, vm), strict=True)),
        dict(zip(parts, (done, wait, node, node), strict=True)),
        dict(zip(parts, (done, done, wait, wait), strict=True)),
        dict(zip(parts, (done, done, done, done), strict=True)),
    ]
    assert [round(time) for time in times] == [0, 10, 12, 14]


async def test_a_machine_reports_the_prerequisites_of_its_start(plane: Plane) -> None:
    await plane.bench.cluster("blue", dev_cluster("blue"))
    await plane.machine("blue", "cp", control_plane=True, bootstrap_data=None)
    await plane.machine("blue", "worker", bootstrap_data=None)
    await settled()
    results = conditions(await machine(plane, "worker"))
    assert results == {
        "Ready": ("False", "NotReady"),
        "VMProvisioned": ("False", "WaitingForClusterInfrastructureReady"),
        "NodeProvisioned": ("False", "WaitingForVMProvisioned"),
        "Paused": ("False", "NotPaused"),
    }
    await plane.bench.cluster_provisioned("blue")
    await settled()
    reasons = {
        name: conditions(await machine(plane, name))["VMProvisioned"][1]
        for name in ("cp", "worker")
    }
    assert reasons == {
        "cp": "WaitingForBootstrapData",
        "worker": "WaitingForControlPlaneInitialized",
    }


async def test_a_machine_with_an_empty_bootstrap_secret_starts(plane: Plane) -> None:
    """As upstream's: what is in the Secret is not run by anything."""
    await plane.cluster("blue")
    for name, control_plane in (("cp", True), ("worker", False)):
        await plane.machine("blue", name, control_plane=control_plane, bootstrap_data=None)
        secret = {"metadata": {"name": name, "namespace": "default"}, "type": "Opaque"}
        await plane.bench.client.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", **secret})
        patch = {"spec": {"bootstrap": {"dataSecretName": name}}}
        await plane.bench.client.patch(Machine.RESOURCE, key(name), patch)
        await plane.ready(name)


async def test_without_a_ca_no_api_server_starts_until_there_is_one(plane: Plane) -> None:
    await plane.bench.cluster("blue", dev_cluster("blue"), provisioned=True)
    await plane.machine("blue", "cp", control_plane=True)
    await settled()
    results = conditions(await machine(plane, "cp"))
    assert results["EtcdProvisioned"] == ("True", "Provisioned")
    assert results["APIServerProvisioned"] == ("False", "InternalError")
    secret = certificate_secret(key("blue"), CLUSTER_CA, plane.authority)
    await plane.bench.client.create(SECRETS, secret)
    await plane.ready("cp")


async def test_a_ca_that_a_user_stored_without_the_label_is_used(plane: Plane) -> None:
    secret = certificate_secret(key("blue"), CLUSTER_CA, plane.authority)
    del secret["metadata"]["labels"]
    await plane.bench.client.create(SECRETS, secret)
    await plane.bench.cluster("blue", dev_cluster("blue"), provisioned=True)
    await plane.machine("blue", "cp", control_plane=True)
    await plane.ready("cp")


async def test_machines_are_identified_and_the_bootstrapped_ones_marked(plane: Plane) -> None:
    await plane.running("blue", workers=1)
    for name in ("blue-cp", "blue-0"):
        document = await machine(plane, name)
        assert document["spec"]["providerID"] == f"in-memory://{name}"
        assert document["status"]["initialization"] == {"provisioned": True}
        assert document["metadata"]["finalizers"] == [
            "dockermachine.infrastructure.cluster.x-k8s.io"
        ]
        owner = await plane.bench.get(MACHINE, name)
        assert owner is not None
        assert owner["metadata"]["annotations"] == {BOOTSTRAPPED: ""}


async def test_the_workload_cluster_has_the_objects_of_kubelets_and_kubeadm(plane: Plane) -> None:
    await plane.running("blue", workers=1)
    client = await plane.workload("blue")
    nodes = {
        document["metadata"]["name"]: document for document in (await client.list(NODES)).items
    }
    assert set(nodes) == {"blue-cp", "blue-0"}
    control_plane = nodes["blue-cp"]
    assert control_plane["spec"]["providerID"] == "in-memory://blue-cp"
    assert control_plane["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] == ""
    assert control_plane["spec"]["taints"][0]["effect"] == "NoSchedule"
    assert control_plane["status"]["nodeInfo"]["kubeletVersion"] == "v1.34.0"
    assert control_plane["status"]["conditions"][0]["type"] == "Ready"
    assert "taints" not in nodes["blue-0"]["spec"]
    results = (await client.list(PODS, "kube-system")).items
    pods = {document["metadata"]["name"]: document for document in results}
    static = {name for name in pods if name.endswith("-blue-cp")}
    assert static == {
        f"{component}-blue-cp"
        for component in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    }
    addons = [pods[name]["metadata"]["labels"]["k8s-app"] for name in sorted({*pods} - static)]
    assert addons == ["kube-dns", "kube-dns", "kube-proxy", "kube-proxy"]
    for pod in pods.values():
        states = {
            condition["type"]: condition["status"] for condition in pod["status"]["conditions"]
        }
        assert states["Ready"] == "True"
    namespaces = [
        document["metadata"]["name"] for document in (await client.list(NAMESPACES)).items
    ]
    assert namespaces == ["default", "kube-node-lease", "kube-public", "kube-system"]
    proxy = await client.get(DAEMON_SETS, Key("kube-system", "kube-proxy"))
    (container,) = proxy["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.k8s.io/kube-proxy:v1.34.0"
    assert await client.get(DEPLOYMENTS, Key("kube-system", "coredns"))
    assert (await client.raw("GET", "/version"))["gitVersion"] == "v1.34.0"
    info = await client.get(CONFIG_MAPS, Key("kube-public", "cluster-info"))
    assert (await plane.kubeconfig("blue")).server in info["data"]["kubeconfig"]


@pytest.mark.parametrize(
    ("resource", "name"), [(DEPLOYMENTS, "coredns"), (DAEMON_SETS, "kube-proxy")]
)
async def test_addons_are_stored_with_their_defaults(
    plane: Plane, resource: Resource, name: str
) -> None:
    await plane.running("blue", workers=1)
    client = await plane.workload("blue")
    before = await client.get(resource, Key("kube-system", name))
    await client.list(PODS)
    assert (await client.get(resource, Key("kube-system", name)))["spec"] == before["spec"]
    notes = {"metadata": {"annotations": {"a": "b"}}}
    after = await client.patch(resource, Key("kube-system", name), notes)
    assert after["spec"] == before["spec"]


INIT = b"""## template: jinja
#cloud-config

write_files:
-   path: /etc/kubernetes/pki/ca.crt
    content: |
      {{ nothing: that is YAML
-   path: /run/kubeadm/kubeadm.yaml
    owner: root:root
    permissions: '0640'
    content: |
      ---
      apiVersion: kubeadm.k8s.io/v1beta4
      clusterName: blue
      kind: ClusterConfiguration
      kubernetesVersion: v1.34.0

      ---
      apiVersion: kubeadm.k8s.io/v1beta4
      kind: InitConfiguration
-   path: /run/cluster-api/placeholder
    content: "x"
runcmd:
  - 'kubeadm init --config /run/kubeadm/kubeadm.yaml'
"""


async def test_kubeadms_configuration_comes_from_the_bootstrap_data(plane: Plane) -> None:
    await plane.cluster("blue")
    await plane.machine("blue", "cp", control_plane=True, bootstrap_data=INIT)
    await plane.ready("cp")
    client = await plane.workload("blue")
    config_maps = await client.get(CONFIG_MAPS, Key("kube-system", "kubeadm-config"))
    assert config_maps["data"]["ClusterConfiguration"] == (
        "apiVersion: kubeadm.k8s.io/v1beta4\n"
        "clusterName: blue\n"
        "kind: ClusterConfiguration\n"
        "kubernetesVersion: v1.34.0\n"
    )


@pytest.mark.parametrize(
    ("more", "dns", "proxy"),
    [
        ("", "registry.k8s.io/coredns/coredns:v1.12.1", "registry.k8s.io/kube-proxy:v1.34.0"),
        (
            "dns:\n  imageTag: v1.11.3\n",
            "registry.k8s.io/coredns/coredns:v1.11.3",
            "registry.k8s.io/kube-proxy:v1.34.0",
        ),
        (
            "imageRepository: mirror.example.com/k8s\n",
            "mirror.example.com/k8s/coredns:v1.12.1",
            "mirror.example.com/k8s/kube-proxy:v1.34.0",
        ),
        (
            "dns:\n  imageRepository: dns.example.com\n",
            "dns.example.com/coredns:v1.12.1",
            "registry.k8s.io/kube-proxy:v1.34.0",
        ),
    ],
)
async def test_add_ons_have_the_images_that_the_configuration_names(
    plane: Plane, more: str, dns: str, proxy: str
) -> None:
    """As kubeadm; an add-on of another version could not be brought to the one asked for."""
    inserted = more.replace("\n", "\n      ").rstrip(" ")
    line = "      kubernetesVersion: v1.34.0\n"
    data = INIT.decode().replace(line, f"{line}      {inserted}").encode()
    await plane.cluster("blue")
    await plane.machine("blue", "cp", control_plane=True, bootstrap_data=data)
    await plane.ready("cp")
    client = await plane.workload("blue")
    images = {}
    for resource, name in ((DEPLOYMENTS, "coredns"), (DAEMON_SETS, "kube-proxy")):
        workload = await client.get(resource, Key("kube-system", name))
        (container,) = workload["spec"]["template"]["spec"]["containers"]
        images[name] = container["image"]
    assert images == {"coredns": dns, "kube-proxy": proxy}


async def test_the_api_server_answers_only_while_a_control_plane_machine_runs(plane: Plane) -> None:
    keys: list[Key] = []
    plane.in_memory.subscribe(keys.append)
    await plane.cluster("blue")
    access = await plane.kubeconfig("blue")
    with pytest.raises(Unreachable):
        plane.in_memory.dial(access)
    await plane.machine("blue", "cp", control_plane=True)
    await plane.ready("cp")
    assert keys == [key("blue")]
    transport = plane.in_memory.dial(access)
    assert (await transport(Request("GET", "/api/v1/nodes"))).status == 200
    await plane.bench.client.delete(MACHINES, key("cp"))
    await plane.bench.until_gone(MACHINES, "cp")
    assert keys == [key("blue"), key("blue")]
    with pytest.raises(Unreachable):
        await transport(Request("GET", "/api/v1/nodes"))


async def test_a_deleted_pod_and_a_deleted_node_disappear_at_once(plane: Plane) -> None:
    await plane.running("blue", workers=1)
    client = await plane.workload("blue")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"nodeName": "blue-0", "containers": [{"name": "web", "image": "web"}]},
    }
    for _ in range(2):
        await client.create(PODS, pod)
        await client.delete(PODS, Key("default", "web"))
        assert not (await client.list(PODS, "default")).items
    await client.create(PODS, pod)
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "web", "namespace": "default"},
    }
    await client.raw("POST", "/api/v1/namespaces/default/pods/web/eviction", body=eviction)
    assert not (await client.list(PODS, "default")).items
    await plane.bench.client.delete(MACHINES, key("blue-0"))
    await plane.bench.until_gone(MACHINES, "blue-0")
    assert [document["metadata"]["name"] for document in (await client.list(NODES)).items] == [
        "blue-cp"
    ]


async def test_deletion_leaves_nothing_behind(plane: Plane) -> None:
    await plane.running("blue", workers=2)
    for name in ("blue-0", "blue-1", "blue-cp"):
        await plane.bench.client.delete(MACHINES, key(name))
        await plane.bench.until_gone(MACHINES, name)
    assert len(plane.in_memory) == 1
    await plane.bench.client.delete(CLUSTERS, key("blue"))
    await plane.bench.until_gone(CLUSTERS, "blue")
    assert len(plane.in_memory) == 0


async def test_a_paused_machine_does_not_start(plane: Plane) -> None:
    await plane.cluster("blue")
    await plane.bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": True}})
    await asyncio.sleep(1)
    await plane.machine("blue", "cp", control_plane=True)
    await settled()
    assert conditions(await machine(plane, "cp")) == {"Paused": ("True", "Paused")}
    await plane.bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": None}})
    await plane.ready("cp")


async def test_objects_with_another_backend_are_left_to_others(plane: Plane) -> None:
    await plane.bench.cluster("blue", dev_cluster("blue", docker={}), provisioned=True)
    infra = {**dev_machine(), "spec": {"backend": {"docker": {}}}}
    await plane.machine("blue", "worker", infra)
    await settled()
    for resource, name in ((CLUSTERS, "blue"), (MACHINES, "worker")):
        document = await plane.bench.get(resource, name)
        assert document is not None
        assert "conditions" not in document.get("status", {})
        assert "finalizers" not in document["metadata"]


async def test_an_invalid_duration_is_reported_in_a_condition(plane: Plane) -> None:
    await plane.cluster("blue")
    await plane.machine("blue", "worker", dev_machine({"vm": "soon"}))
    await settled()
    document = await machine(plane, "worker")
    entries = {
        condition["type"]: condition["message"] for condition in document["status"]["conditions"]
    }
    assert 'invalid duration "soon"' in entries["VMProvisioned"]


async def test_a_hundred_clusters_live_side_by_side(plane: Plane) -> None:
    names = [f"c{number}" for number in range(100)]
    for name in names:
        await plane.cluster(name)
        await plane.machine(name, f"{name}-cp", dev_machine(UPSTREAM), control_plane=True)
    await plane.ready(*(f"{name}-cp" for name in names))
    for name in names[::25]:
        client = await plane.workload(name)
        (node,) = (await client.list(NODES)).items
        assert node["metadata"]["name"] == f"{name}-cp"


async def test_jitter_is_drawn_once_per_machine(plane: Plane) -> None:
    await plane.cluster("blue")
    for number in range(8):
        await plane.machine("blue", f"w{number}", dev_machine({"vm": "10s"}, jitter="1"))
    loop = asyncio.get_running_loop()
    start, ready = loop.time(), dict[str, float]()
    while len(ready) < 8:
        for number in range(8):
            name = f"w{number}"
            if name not in ready and is_ready(await machine(plane, name)):
                ready[name] = loop.time() - start
        await asyncio.sleep(0.05)
    times = sorted(ready.values())
    assert times[0] >= 9.9
    assert times[-1] <= 20.1
    assert len({round(time, 1) for time in times}) > 4


async def test_a_workload_cluster_collects_garbage_and_empties_namespaces(plane: Plane) -> None:
    await plane.running("blue")
    client = await plane.workload("blue")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    await client.create(NAMESPACES, namespace)
    owner = await client.create(CONFIG_MAPS, config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    owned = config_map("owned")
    owned["metadata"]["ownerReferences"] = [{**reference, "uid": owner["metadata"]["uid"]}]
    await client.create(CONFIG_MAPS, owned)
    await client.create(CONFIG_MAPS, config_map("other"))
    await client.delete(CONFIG_MAPS, Key("shop", "owner"))
    await settled()
    remaining = [
        document["metadata"]["name"] for document in (await client.list(CONFIG_MAPS, "shop")).items
    ]
    assert remaining == ["other"]
    await client.delete(NAMESPACES, Key("", "shop"))
    await settled()
    assert not (await client.list(CONFIG_MAPS, "shop")).items
    names = [document["metadata"]["name"] for document in (await client.list(NAMESPACES)).items]
    assert "shop" not in names


def config_map(name: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop"},
    }
