"""Machines that are containers: what happens in which order, and what is said of it."""

from __future__ import annotations

import asyncio
from base64 import b64encode

import pytest

from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.containers import CommandResult
from kapy.kube import Document, Key
from kapy.kube.boot import STARTED, SUCCEEDED
from kapy.kube.names import EVENTS, NODES, SECRETS
from kapy.providers.docker.containers import CLUSTER_LABEL, NAMESPACE_LABEL, ROLE_LABEL
from kapy.testing.provider_bench import NAMESPACE, key
from tests.providers.docker.setup import (
    BOOT_DATA,
    CLUSTER,
    DEV,
    DOCKER,
    NODE_IMAGE,
    Kinds,
    conditions,
    is_provisioned,
    message,
    playing,
    status,
)
from tests.testing.conformance.behaviour.providers import template_of

TAINT = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}


def v1beta1_statuses(document: Document) -> dict[str, str]:
    legacy = document["status"]["deprecated"]["v1beta1"]["conditions"]
    return {condition["type"]: condition["status"] for condition in legacy}


@pytest.mark.parametrize("kinds", [DEV, DOCKER], ids=["DevMachine", "DockerMachine"])
async def test_a_control_plane_machine_becomes_a_node(kinds: Kinds) -> None:
    async with playing(kinds) as stage:
        provisioned: list[bool] = []

        async def note(_: str) -> None:
            result = await stage.bench.get(kinds.machine, "cp-0")
            provisioned.append(result is not None and is_provisioned(result))

        stage.engine.on_command = note
        await stage.cluster()
        await stage.machine("cp-0", control_plane=True)
        document = await stage.until("cp-0", is_provisioned)
        name = "blue-cp-0"
        assert document["spec"]["providerID"] == f"docker:////{name}"
        ipv4 = stage.engine.made[name].record.address()[0]
        assert document["status"]["addresses"] == [
            {"type": "Hostname", "address": name},
            {"type": "InternalIP", "address": ipv4},
            {"type": "ExternalIP", "address": ipv4},
        ]
        assert document["metadata"]["annotations"][Annotation.LOAD_BALANCER_WEIGHT] == "100"
        assert f"server {name} {ipv4}:6443 weight 100 check" in stage.balancer
        document = await stage.booted("cp-0")
        assert status(document, "Ready") == "True"
        assert len(provisioned) == 4
        assert all(provisioned)
        ran = stage.engine.made[name].ran
        assert [text.split(" ")[-1] for text in ran[-3:]] == ["before", "/run/done", "after"]
        assert f"echo started > {STARTED} && kubeadm init --ignore-preflight-errors=" in ran[-2]
        files = stage.engine.made[name].files
        assert b"KubeProxyConfiguration" in files["/run/kubeadm/kubeadm.yaml"]
        await stage.initialized()
        await stage.node(name, taints=[TAINT, {"key": "other", "effect": "NoSchedule"}])
        await asyncio.sleep(1)
        node = await stage.nodes.get(NODES, Key("", name))
        assert node["spec"]["providerID"] == f"docker:////{name}"
        assert [taint["key"] for taint in node["spec"]["taints"]] == ["other"]
        assert {"type": "InternalIP", "address": ipv4} in node["status"]["addresses"]


@pytest.mark.parametrize(("security", "passed"), [((), False), (("name=rootless",), True)])
async def test_the_kubelet_of_a_rootless_engine_is_informed(
    security: tuple[str, ...], passed: bool
) -> None:
    async with playing() as stage:
        stage.engine.security = security
        await stage.cluster()
        await stage.machine("cp-0", control_plane=True)
        await stage.booted("cp-0")
        configuration = stage.engine.made["blue-cp-0"].files["/run/kubeadm/kubeadm.yaml"]
        assert (b"KubeletInUserNamespace=true" in configuration) is passed


@pytest.mark.parametrize("seconds", [3.0, 20.0])
async def test_no_command_runs_in_a_container_before_systemd_has_made_its_cgroups(
    seconds: float,
) -> None:
    async with playing() as stage:
        stage.engine.boot_time = seconds
        await stage.cluster()
        await stage.machine("cp-0", control_plane=True)
        await stage.booted("cp-0")
        assert stage.engine.early == []


@pytest.mark.parametrize("output", [b"", b"\x00" * 10_000])
async def test_a_container_without_systemd_output_is_queried(output: bytes) -> None:
    async with playing() as stage:
        stage.engine.output_of_systemd = output
        await stage.cluster()
        await stage.machine("cp-0", control_plane=True)
        await stage.booted("cp-0")


async def test_a_machine_reports_its_progress() -> None:
    async with playing() as stage:
        await stage.bench.cluster("blue", DEV.infra())
        await stage.machine("worker-0")
        document = await stage.until(
            "worker-0", lambda value: status(value, "ContainerProvisioned")
        )
        reason = "WaitingForClusterInfrastructureReady"
        assert conditions(document)["ContainerProvisioned"] == ("False", reason, "")
        for waiting in ("CGroupsReady", "PreLoadedImagesReady", "BootstrapCompleted"):
            assert conditions(document)[waiting] == ("False", "WaitingForContainer", "")
        legacy = document["status"]["deprecated"]["v1beta1"]["conditions"]
        old = {item["type"]: item.get("reason") for item in legacy}
        assert old["ContainerProvisioned"] == "WaitingForClusterInfrastructure"
        await stage.bench.cluster_provisioned("blue")
        document = await stage.until(
            "worker-0", lambda value: conditions(value)["CGroupsReady"][1] == "NotReady"
        )
        assert message(document, "CGroupsReady") == "Waiting for cgroups ready (1 of 1)"
        assert conditions(document)["PreLoadedImagesReady"][1] == "WaitingForCGroups"
        assert conditions(document)["BootstrapCompleted"][1] == "WaitingForCGroups"
        assert "providerID" not in document["spec"]
        document = await stage.until(
            "worker-0", lambda value: "runcmd[1]" in message(value, "BootstrapCompleted")
        )
        assert conditions(document)["BootstrapCompleted"] == (
            "False",
            "NotReady",
            "Running bootstrap command [ runcmd[1] ] (3 of 4)",
        )
        assert is_provisioned(document)
        assert v1beta1_statuses(document) == {"ContainerProvisioned": "True", "Ready": "True"}


async def test_a_failed_command_is_shown_and_not_tried_again() -> None:
    async with playing() as stage:
        lines = "\n".join(f"line {number}" for number in range(40))
        result = CommandResult(2, f"\x1b[32m{lines}\x1b[0m\n", "no route to host\n")
        stage.engine.failing["kubeadm init"] = result
        await stage.cluster()
        await stage.machine("cp-0", control_plane=True)
        document = await stage.until(
            "cp-0",
            lambda value: conditions(value).get("BootstrapCompleted", ("",) * 3)[1] == "Failed",
        )
        text = message(document, "BootstrapCompleted")
        assert text.startswith(
            "Running bootstrap command [ runcmd[1] ]\nERROR: exited with status: 2"
        )
        assert "  * line 39\nSTDERR: no route to host" in text
        assert "line 29\n" not in text
        assert "\x1b" not in text
        assert is_provisioned(document)
        ran = list(stage.engine.made["blue-cp-0"].ran)
        assert sum("kubeadm init" in name for name in ran) == 1
        await asyncio.sleep(3600)
        assert stage.engine.made["blue-cp-0"].ran == ran


async def test_a_file_that_cannot_be_written_is_tried_again() -> None:
    async with playing() as stage:
        stage.engine.failing["kubeadm.yaml 0640"] = CommandResult(1, "", "read-only\n")
        stage.engine.failing["kubeadm.yaml root"] = CommandResult(1, "", "read-only\n")
        await stage.cluster()
        await stage.machine("cp-0", control_plane=True)
        await stage.until("cp-0", is_provisioned)
        await asyncio.sleep(7)
        stage.engine.failing.clear()
        await stage.booted("cp-0")
        ran = stage.engine.made["blue-cp-0"].ran
        assert sum("mkdir -p" in text for text in ran) == 3


async def test_a_machine_that_is_deleted_stops_booting() -> None:
    async with playing() as stage:
        await stage.cluster()
        await stage.machine("worker-0")
        await stage.until(
            "worker-0", lambda value: "runcmd[1]" in message(value, "BootstrapCompleted")
        )
        await stage.delete_machine("worker-0")
        await stage.bench.until_gone(DEV.machine, "worker-0")
        names = [getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()]
        assert "_work" not in names


async def test_boot_data_that_another_program_began_is_waited_for() -> None:
    async with playing() as stage:
        await stage.cluster()
        stage.engine.initial_files[STARTED] = b"started"
        await stage.machine("cp-0", control_plane=True)
        await asyncio.sleep(60)
        container, document = (
            stage.engine.made["blue-cp-0"],
            await stage.bench.get(DEV.machine, "cp-0"),
        )
        assert document is not None
        waits = "Waiting for kubeadm, which was started before (1 of 1)"
        assert message(document, "BootstrapCompleted") == waits
        container.files[SUCCEEDED] = b"success"
        await stage.booted("cp-0")
        assert not container.ran


@pytest.mark.parametrize("kinds", [DEV, DOCKER], ids=["DevMachine", "DockerMachine"])
async def test_a_machine_that_is_adopted_needs_no_boot_data(kinds: Kinds) -> None:
    """Its objects were deleted by force and made again, with its provider ID."""
    async with playing(kinds) as stage:
        await stage.cluster()
        stage.engine.put("blue-cp-0", {CLUSTER_LABEL: "blue", ROLE_LABEL: "control-plane"})
        stage.engine.made["blue-cp-0"].files |= {STARTED: b"", SUCCEEDED: b""}
        provider_id = "docker:////blue-cp-0"
        await stage.machine("cp-0", control_plane=True, data=None, provider_id=provider_id)
        document = await stage.booted("cp-0")
        assert is_provisioned(document)
        assert document["status"]["addresses"]
        assert not stage.engine.made["blue-cp-0"].ran


async def test_a_machine_waits_for_its_boot_data_in_its_container() -> None:
    async with playing() as stage:
        await stage.cluster()
        await stage.machine("cp-0", control_plane=True, data=None)
        reason = "WaitingForBootstrapData"
        document = await stage.until(
            "cp-0", lambda item: conditions(item).get("BootstrapCompleted", ("",) * 3)[1] == reason
        )
        assert is_provisioned(document)
        assert not stage.engine.made["blue-cp-0"].ran
        value = b64encode(BOOT_DATA).decode()
        await stage.bench.client.patch(SECRETS, key("cp-0"), {"data": {"value": value}})
        await stage.booted("cp-0")


async def test_an_image_is_pulled_with_progress_or_the_condition_says_what_to_do() -> None:
    async with playing() as stage:
        await stage.cluster()
        stage.engine.images.remove(NODE_IMAGE)
        await stage.machine("worker-0")
        document = await stage.until(
            "worker-0", lambda value: "layers" in message(value, "ContainerProvisioned")
        )
        document = await stage.until(
            "worker-0", lambda value: "docker load" in message(value, "ContainerProvisioned")
        )
        assert conditions(document)["ContainerProvisioned"][:2] == ("False", "NotProvisioned")
        stage.engine.registry.add(NODE_IMAGE)
        await stage.booted("worker-0")


async def test_an_engine_that_is_away_is_waited_for() -> None:
    async with playing() as stage:
        await stage.cluster()
        stage.engine.down = True
        await stage.machine("worker-0")
        document = await stage.until(
            "worker-0", lambda value: "no container engine" in message(value, "Ready")
        )
        assert conditions(document)["ContainerProvisioned"][1] == "NotProvisioned"
        stage.engine.down = False
        await stage.booted("worker-0")


async def test_images_are_loaded_before_the_machine_is_provisioned() -> None:
    async with playing() as stage:
        stage.engine.images.add("app:1")
        await stage.cluster()
        await stage.machine("worker-0", {"preLoadImages": ["app:1"]})
        await stage.until("worker-0", is_provisioned)
        assert stage.engine.made["blue-worker-0"].images == [b"archive of app:1"]


async def test_a_container_of_another_cluster_is_not_touched() -> None:
    async with playing() as stage:
        labels = {CLUSTER_LABEL: "blue", NAMESPACE_LABEL: "elsewhere"}
        stage.engine.put("blue-worker-0", labels)
        await stage.cluster()
        await stage.machine("worker-0")
        document = await stage.until(
            "worker-0", lambda value: "elsewhere/blue" in message(value, "Ready")
        )
        assert "need different names" in message(document, "ContainerProvisioned")
        await stage.delete_machine("worker-0")
        await stage.bench.until_gone(DEV.machine, "worker-0")
        assert "blue-worker-0" in stage.engine.names()
        assert "remove blue-worker-0" not in stage.engine.diary


async def test_a_container_that_was_not_started_is_made_anew() -> None:
    async with playing() as stage:
        await stage.cluster()
        labels = {CLUSTER_LABEL: "blue", ROLE_LABEL: "worker"}
        stage.engine.put("blue-worker-0", labels, state="created")
        await stage.machine("worker-0")
        await stage.booted("worker-0")
        diary = [text for text in stage.engine.diary if "worker" in text]
        assert diary == ["remove blue-worker-0", "create blue-worker-0", "start blue-worker-0"]


async def test_a_machine_that_upstreams_manager_made_is_taken_over() -> None:
    async with playing() as stage:
        await stage.cluster()
        stage.engine.put("blue-worker-0", {CLUSTER_LABEL: "blue", ROLE_LABEL: "worker"})
        infra = DEV.machine_of()
        infra["spec"]["providerID"] = "docker:////blue-worker-0"
        await stage.bench.machine("blue", "worker-0", infra, bootstrap_data=b"#cloud-config\n{}")
        patch: Document = {"status": {"nodeRef": {"name": "blue-worker-0"}}}
        await stage.bench.client.patch(
            Machine.RESOURCE, key("worker-0"), patch, subresource="status"
        )
        document = await stage.until("worker-0", lambda value: status(value, "Ready") == "True")
        assert is_provisioned(document)
        assert not stage.engine.made["blue-worker-0"].ran
        assert not [text for text in stage.engine.diary if "worker" in text]


async def test_a_killed_container_is_reported_and_not_replaced() -> None:
    async with playing() as stage:
        await stage.cluster()
        await stage.machine("worker-0")
        await stage.booted("worker-0")
        stage.engine.halt("blue-worker-0")
        document = await stage.until("worker-0", lambda value: status(value, "Ready") == "False")
        text = "Container blue-worker-0 is not running anymore"
        assert conditions(document)["ContainerProvisioned"] == ("False", "NotProvisioned", text)
        assert v1beta1_statuses(document) == {"ContainerProvisioned": "False", "Ready": "False"}
        assert is_provisioned(document)
        assert document["status"]["addresses"]
        assert stage.engine.diary.count("create blue-worker-0") == 1


async def test_deletion_leaves_the_load_balancer_first() -> None:
    async with playing() as stage:
        await stage.cluster()
        for name in ("cp-0", "cp-1"):
            await stage.machine(name, control_plane=True)
            await stage.booted(name)
        assert stage.balancer.count("server blue-cp-") == 2
        hold = {"metadata": {"finalizers": ["core.example.dev/drains-the-node"]}}
        await stage.bench.client.patch(Machine.RESOURCE, key("cp-1"), hold)
        await stage.bench.client.delete(Machine.RESOURCE, key("cp-1"))
        await asyncio.sleep(1)
        (line,) = (text for text in stage.balancer.splitlines() if "server blue-cp-1" in text)
        assert " weight 0 " in line
        await stage.bench.client.delete(DEV.machine, key("cp-1"))
        await stage.bench.until_gone(DEV.machine, "cp-1")
        assert "blue-cp-1" not in stage.balancer
        assert stage.engine.names() == ["blue-cp-0", "blue-lb"]
        assert set(stage.engine.made["blue-lb"].signals) == {"SIGHUP"}


async def test_a_machine_of_another_backend_is_ignored() -> None:
    async with playing() as stage:
        await stage.bench.cluster("blue", provisioned=True)
        infra = DEV.machine_of()
        infra["spec"] = {"backend": {"inMemory": {}}}
        await stage.bench.machine("blue", "worker-0", infra, bootstrap_data=b"x")
        await asyncio.sleep(60)
        document = await stage.bench.get(DEV.machine, "worker-0")
        assert document is not None
        assert "status" not in document
        assert "finalizers" not in document["metadata"]
        assert CLUSTER.name not in " ".join(stage.engine.names())


async def test_unsupported_boot_data_is_reported() -> None:
    async with playing() as stage:
        await stage.cluster()
        data = b"""#cloud-config
ntp: {enabled: true, servers: [time.test]}
users: [{name: capybara}]
write_files:
- {path: /etc/one, content: '1'}
- {path: /etc/two, content: '2'}
runcmd: ['kubeadm join']
"""
        await stage.machine("worker-0", data=data)
        await stage.booted("worker-0")
        ran = stage.engine.made["blue-worker-0"]
        assert (ran.files["/etc/one"], ran.files["/etc/two"]) == (b"1", b"2")
        assert len(ran.ran) == 2  # both files take one command
        (event,) = [
            document
            for document in (await stage.bench.client.list(EVENTS, NAMESPACE)).items
            if document["reason"] == "BootDataIgnored"
        ]
        assert event["type"] == "Warning"
        assert event["involvedObject"]["name"] == "worker-0"
        assert "not carried out in a container: ntp, users; do what they" in event["message"]


@pytest.mark.parametrize("kinds", [DEV, DOCKER], ids=["Dev", "Docker"])
async def test_templates_report_the_capacity_of_the_engine(kinds: Kinds) -> None:
    async with playing(kinds) as stage:
        wanted = kinds.machine_of()
        template = {
            **wanted,
            "kind": f"{wanted['kind']}Template",
            "metadata": {"name": "small", "namespace": NAMESPACE},
            "spec": {"template": {"spec": wanted["spec"]}},
        }
        resource = template_of(kinds.machine)
        await stage.bench.client.create(resource, template)
        document = await stage.bench.until(resource, "small", lambda item: "status" in item)
        assert document["status"]["capacity"] == {"cpu": "4", "memory": "16Gi"}
        of_memory = {**template, "metadata": {"name": "other", "namespace": NAMESPACE}}
        of_memory["spec"] = {"template": {"spec": {"backend": {"inMemory": {}}}}}
        if kinds is DEV:
            await stage.bench.client.create(resource, of_memory)
            await asyncio.sleep(60)
            assert "status" not in await stage.bench.client.get(resource, key("other"))


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("rpc error: unknown service runtime.v1.RuntimeService", "fs.inotify.max_user_instances"),
        ("inotify_init: Too many open files", "fs.inotify.max_user_instances"),
        ("mkdir: No space left on device", "docker system df"),
    ],
)
async def test_a_failure_of_the_engines_machine_has_a_remedy(said: str, remedy: str) -> None:
    async with playing() as stage:
        stage.engine.failing["kubeadm init"] = CommandResult(1, "", f"{said}\n")
        await stage.cluster()
        await stage.machine("cp-0", control_plane=True)
        document = await stage.until(
            "cp-0",
            lambda value: conditions(value).get("BootstrapCompleted", ("", ""))[1] == "Failed",
        )
        assert message(document, "BootstrapCompleted").splitlines()[-1].startswith("REMEDY: ")
        assert remedy in message(document, "BootstrapCompleted").splitlines()[-1]
