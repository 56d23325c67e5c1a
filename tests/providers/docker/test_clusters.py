"""Clusters of containers and their load balancers."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS
from kapy.providers.docker.containers import CLUSTER_LABEL, NAMESPACE_LABEL, ROLE_LABEL
from kapy.testing.provider_bench import NAMESPACE, key
from tests.providers.docker.setup import (
    BALANCER_IMAGE,
    DEV,
    DOCKER,
    Kinds,
    conditions,
    is_provisioned,
    message,
    playing,
)

BALANCER_LABELS = {CLUSTER_LABEL: "blue", ROLE_LABEL: "external-load-balancer"}


@pytest.mark.parametrize("kinds", [DEV, DOCKER], ids=["DevCluster", "DockerCluster"])
async def test_a_cluster_has_a_load_balancer_and_its_failure_domains(kinds: Kinds) -> None:
    async with playing(kinds) as stage:
        domains = [{"name": "a", "controlPlane": True}, {"name": "b", "controlPlane": False}]
        await stage.cluster({"failureDomains": domains})
        document = await stage.bench.get(kinds.cluster, "blue")
        assert document is not None
        balancer = stage.engine.made["blue-lb"]
        host = balancer.record.address()[0]
        assert document["spec"]["controlPlaneEndpoint"] == {"host": host, "port": 6443}
        assert [domain["name"] for domain in document["status"]["failureDomains"]] == ["a", "b"]
        assert conditions(document)["LoadBalancerAvailable"] == ("True", "Available", "")
        assert conditions(document)["Ready"] == ("True", "Ready", "")
        legacy = document["status"]["deprecated"]["v1beta1"]["conditions"]
        assert {item["type"]: item["status"] for item in legacy} == {
            "LoadBalancerAvailable": "True",
            "Ready": "True",
        }
        assert balancer.config["Entrypoint"][0] == "haproxy"
        assert balancer.config["Labels"] == {**BALANCER_LABELS, NAMESPACE_LABEL: NAMESPACE}
        assert "bind *:6443" in stage.balancer
        assert "kind" in stage.engine.networks


async def test_deletion_leaves_nothing() -> None:
    async with playing() as stage:
        stage.engine.put("other", {"io.x-k8s.other": ""})
        stage.engine.put("blue-kinds-own", {CLUSTER_LABEL: "blue"})
        labels = {CLUSTER_LABEL: "blue", NAMESPACE_LABEL: NAMESPACE}
        stage.engine.put("blue-left-over", labels)
        await stage.cluster()
        await stage.bench.client.delete(DEV.cluster, key("blue"))
        await stage.bench.until_gone(DEV.cluster, "blue")
        assert stage.engine.names() == ["blue-kinds-own", "other"]
        await stage.engine.remove("blue-kinds-own")


async def test_the_network_is_removed_with_the_last_cluster_if_kapy_created_it() -> None:
    async with playing() as stage:
        await stage.cluster()
        await stage.bench.client.delete(DEV.cluster, key("blue"))
        await stage.bench.until_gone(DEV.cluster, "blue")
        assert not stage.engine.networks
        await stage.engine.create_network("kind", {})
        await stage.bench.cluster("green", {**DEV.infra(), "metadata": {"name": "green"}})
        await stage.bench.until(DEV.cluster, "green", is_provisioned)
        await stage.bench.client.delete(DEV.cluster, key("green"))
        await stage.bench.until_gone(DEV.cluster, "green")
        assert list(stage.engine.networks) == ["kind"]


async def test_the_network_goes_with_the_last_machine_of_a_cluster_elsewhere() -> None:
    """Machines in containers of a Cluster that has no load balancer there."""
    async with playing(DOCKER) as stage:
        memory = {**DEV.infra(), "spec": {"backend": {"inMemory": {}}}}
        await stage.bench.cluster("blue", memory)
        await stage.bench.cluster_provisioned("blue")
        for name in ("worker-0", "worker-1"):
            await stage.machine(name)
            await stage.booted(name)
        assert "kind" in stage.engine.networks
        await stage.delete_machine("worker-0")
        await stage.bench.until_gone(DOCKER.machine, "worker-0")
        assert "kind" in stage.engine.networks, "another machine needs it"
        await stage.delete_machine("worker-1")
        await stage.bench.until_gone(DOCKER.machine, "worker-1")
        assert not stage.engine.made
        assert not stage.engine.networks


async def test_a_load_balancer_that_stopped_is_started_again() -> None:
    async with playing() as stage:
        await stage.cluster()
        stage.engine.halt("blue-lb")
        await asyncio.sleep(1)
        assert stage.engine.made["blue-lb"].record.is_running
        assert stage.engine.diary.count("create blue-lb") == 1


async def test_a_paused_load_balancer_reads_its_configuration_when_it_goes_on() -> None:
    async with playing() as stage:
        await stage.cluster()
        balancer = stage.engine.made["blue-lb"]
        balancer.record = replace(balancer.record, state="paused")
        await stage.machine("cp-0", control_plane=True)
        await stage.booted("cp-0")
        assert "server blue-cp-0" in stage.balancer
        assert "SIGHUP" in balancer.signals
        assert stage.engine.diary.count("start blue-lb") == 1, "it was not started again"


async def test_a_paused_machine_is_not_replaced() -> None:
    """A container that a user pauses before its machine is provisioned keeps its files."""
    async with playing() as stage:
        await stage.cluster()
        stage.engine.boot_time = 300.0
        await stage.machine("worker-0")
        await stage.until("worker-0", lambda _: "blue-worker-0" in stage.engine.made)
        machine = stage.engine.made["blue-worker-0"]
        machine.record = replace(machine.record, state="paused")
        await asyncio.sleep(60)
        assert stage.engine.made["blue-worker-0"] is machine


async def test_changes_during_an_interrupted_event_stream_are_found() -> None:
    async with playing() as stage:
        await stage.cluster()
        await stage.machine("worker-0")
        await stage.booted("worker-0")
        stage.engine.down = True
        stage.engine.events.put_nowait(None)  # the engine hangs up
        await asyncio.sleep(1)
        stage.engine.halt("blue-lb")
        stage.engine.halt("blue-worker-0")
        while not stage.engine.events.empty():
            stage.engine.events.get_nowait()
        stage.engine.down = False
        await stage.until("worker-0", lambda value: "not running" in message(value, "Ready"))
        assert stage.engine.made["blue-lb"].record.is_running


async def test_a_load_balancer_of_upstreams_manager_is_taken_over() -> None:
    async with playing() as stage:
        stage.engine.put("blue-lb", BALANCER_LABELS)
        await stage.cluster()
        document = await stage.bench.get(DEV.cluster, "blue")
        assert document is not None
        host = stage.engine.made["blue-lb"].record.address()[0]
        assert document["spec"]["controlPlaneEndpoint"]["host"] == host
        assert "create blue-lb" not in stage.engine.diary
        await stage.machine("cp-0", control_plane=True)
        await stage.until("cp-0", is_provisioned)
        assert "server blue-cp-0" in stage.balancer


async def test_two_clusters_of_one_name_do_not_share_a_load_balancer() -> None:
    async with playing() as stage:
        stage.engine.put("blue-lb", {**BALANCER_LABELS, NAMESPACE_LABEL: "elsewhere"})
        await stage.bench.cluster("blue", DEV.infra())
        document = await stage.bench.until(
            DEV.cluster, "blue", lambda item: "elsewhere/blue" in message(item, "Ready")
        )
        assert conditions(document)["LoadBalancerAvailable"][:2] == ("False", "NotAvailable")
        await stage.bench.client.delete(DEV.cluster, key("blue"))
        await stage.bench.until_gone(DEV.cluster, "blue")
        assert stage.engine.names() == ["blue-lb"]


async def test_a_missing_image_or_engine_is_explained() -> None:
    async with playing() as stage:
        stage.engine.images.remove(BALANCER_IMAGE)
        await stage.bench.cluster("blue", DEV.infra())
        document = await stage.bench.until(
            DEV.cluster,
            "blue",
            lambda item: "docker load" in message(item, "LoadBalancerAvailable"),
        )
        legacy = document["status"]["deprecated"]["v1beta1"]["conditions"]
        result = next(item for item in legacy if item["type"] == "LoadBalancerAvailable")
        assert (result["reason"], result["severity"]) == (
            "LoadBalancerProvisioningFailed",
            "Warning",
        )
        stage.engine.down = True
        await stage.bench.until(
            DEV.cluster, "blue", lambda item: "no container engine" in message(item, "Ready")
        )
        stage.engine.down = False
        stage.engine.registry.add(BALANCER_IMAGE)
        await stage.bench.until(DEV.cluster, "blue", is_provisioned)


async def test_a_load_balancer_may_have_another_image_and_template() -> None:
    async with playing() as stage:
        stage.engine.images.add("registry.example.com/x/haproxy:2")
        template = "port {{ .FrontendControlPlanePort }}{{ range $n, $b := .BackendServers }}\n"
        template += "{{ $n }} {{ JoinHostPort $b.Address $.BackendControlPlanePort }}{{ end }}"
        wanted: Document = {
            "imageRepository": "registry.example.com/x",
            "imageTag": "2",
            "customHAProxyConfigTemplateRef": {"name": "haproxy"},
        }
        await stage.bench.cluster("blue", DEV.infra({"loadBalancer": wanted}))
        await stage.bench.until(
            DEV.cluster,
            "blue",
            lambda document: (
                "names ConfigMap default/haproxy, which does not exist"
                in message(document, "LoadBalancerAvailable")
            ),
        )
        config_map: Document = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "haproxy", "namespace": NAMESPACE},
            "data": {"value": template},
        }
        await stage.bench.client.create(CONFIG_MAPS, config_map)
        await stage.bench.until(DEV.cluster, "blue", is_provisioned)
        await stage.bench.cluster_provisioned("blue")
        assert stage.balancer == "port 6443"
        await stage.machine("cp-0", control_plane=True)
        await stage.until("cp-0", is_provisioned)
        address = stage.engine.made["blue-cp-0"].record.address()[0]
        assert stage.balancer == f"port 6443\nblue-cp-0 {address}:6443"


async def test_the_configuration_is_written_when_it_changes_only() -> None:
    async with playing() as stage:
        await stage.cluster()
        await stage.machine("cp-0", control_plane=True)
        await stage.booted("cp-0")
        signals = stage.engine.made["blue-lb"].signals
        assert signals == ["SIGHUP"]
        for number in range(3):
            labels = {"metadata": {"labels": {"look": str(number)}}}
            await stage.bench.client.patch(DEV.machine, key("cp-0"), labels)
            await asyncio.sleep(1)
        assert signals == ["SIGHUP"]
