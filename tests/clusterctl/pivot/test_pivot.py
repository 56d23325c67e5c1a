"""Pivots: a cluster takes over its own management, gives it back, and is interrupted anywhere."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any, Final

import pytest

from kapy.apps.consoles import console_of
from kapy.client.client import Client
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.inventory import PROVIDERS, Inventory
from kapy.clusterctl.pivot.access import kubeconfig_file
from kapy.clusterctl.pivot.host import CLUSTERS
from kapy.kube import Document, Key
from kapy.kube.names import DEPLOYMENTS, NODES, PODS, SECRETS, Resource
from tests.clusterctl.move.killed_process import Killed, Life
from tests.clusterctl.pivot.setup import PROD, Setup, node, setup

EVERY_MOMENT: Final = bool(os.environ.get("KAPY_SOAK"))
Names = tuple[list[str], list[str]]

HERE: Final[Names] = (["prod"], [])
THERE: Final[Names] = ([], ["prod"])
INSTALLED: Final = {
    "bootstrap-kubeadm", "cluster-api", "control-plane-kubeadm", "infrastructure-acme",
}  # fmt: skip


async def labels(client: Client) -> set[str]:
    return {installed.label for installed in await Inventory(client).installed()}


async def test_a_cluster_manages_itself_and_is_taken_back(tmp_path: Path) -> None:
    async with setup(tmp_path) as world:
        await world.pivot().pivot()
        assert await world.clusters() == await world.things() == THERE
        assert await labels(world.itself) == INSTALLED
        remains = await world.pivot().remains()
        assert (remains.clusters, {provider.label for provider in remains.providers}) == (
            (),
            INSTALLED,
        )
        await world.pivot().unpivot()
        assert await world.clusters() == await world.things() == HERE
        await world.pivot().pivot()
        assert await world.clusters() == THERE


async def test_a_repeated_pivot_changes_nothing(tmp_path: Path) -> None:
    async with setup(tmp_path) as world:
        await world.pivot().pivot()
        before = [
            document["metadata"]["uid"] for document in (await world.itself.list(CLUSTERS)).items
        ]
        world.said.clear()
        await world.pivot().pivot()
        await world.pivot().rehearse()
        assert world.said == [
            "Waiting for Cluster default/prod to be Available",
            "Cluster default/prod manages itself already",
        ]
        assert before == [
            document["metadata"]["uid"] for document in (await world.itself.list(CLUSTERS)).items
        ]


async def test_a_dry_run_prints_the_steps_and_changes_nothing(tmp_path: Path) -> None:
    async with setup(tmp_path) as world:
        await world.pivot(local={"infrastructure-acme": "/bin/acme"}).rehearse()
        assert await world.clusters() == HERE
        assert await labels(world.itself) == set()
        message = "\n".join(world.said)
        assert (
            'Would install provider="infrastructure-acme" version="v1.0.0" '
            'namespace="infrastructure-acme-system" program="/bin/acme"' in message
        )
        assert 'the cluster will need its image images="registry.example/acme:v1.0.0"' in message
        assert "This is a dry-run move" in message


@pytest.mark.parametrize("acted_on", [False, True], ids=["request lost", "answer lost"])
async def test_a_pivot_interrupted_at_any_step_continues(tmp_path: Path, *, acted_on: bool) -> None:
    """A sample of the moments; all of them where KAPY_SOAK is set."""
    async with setup(tmp_path / "whole") as world:
        whole = Life()
        await world.pivot(whole).pivot()
    step = 1 if EVERY_MOMENT else whole.used // 4
    for requests in range(int(acted_on), whole.used, step):
        async with setup(tmp_path / str(requests)) as world:
            with pytest.raises(Killed):
                await world.pivot(Life(requests, acted_on=acted_on)).pivot()
            await world.pivot().pivot()
            assert await world.clusters() == await world.things() == THERE, requests
            assert await labels(world.itself) == INSTALLED, requests
            assert not list((world.folder / "moves").glob("*")), requests


def removes_a_cluster(request: Any) -> bool:
    return request.method == "DELETE" and "/clusters/" in request.path


async def test_a_pivot_interrupted_in_its_move_can_be_undone(tmp_path: Path) -> None:
    async with setup(tmp_path) as world:
        with pytest.raises(Killed):
            await world.pivot(Life(last=removes_a_cluster, acted_on=True)).pivot()
        await world.pivot().unpivot()
        assert world.said.count("Waiting for all resources to be ready to move") == 1
        assert any(text.startswith("Undoing a move that did not end") for text in world.said)
        assert await world.clusters() == await world.things() == HERE
        with pytest.raises(Killed):
            await world.pivot(Life(last=removes_a_cluster)).pivot()
        await world.pivot().unpivot()
        await world.pivot().pivot()
        assert await world.clusters() == await world.things() == THERE
        with pytest.raises(Killed):
            await world.pivot(Life(last=removes_a_cluster, acted_on=True)).unpivot()
        await world.pivot().pivot()
        assert await world.clusters() == await world.things() == THERE


UNAVAILABLE: Final = {
    "type": "Available",
    "status": "False",
    "reason": "NotAvailable",
    "message": "* WorkersAvailable: 1 of 3\n* InfrastructureReady: no",
}


@pytest.mark.parametrize(
    ("side", "resource", "key", "patch", "sentence"),
    [
        (
            "plane",
            CLUSTERS,
            PROD,
            {"spec": {"paused": True}, "status": {"conditions": [UNAVAILABLE]}},
            "Cluster default/prod is paused, so that nobody would look after it; resume it",
        ),
        (
            "plane",
            CLUSTERS,
            PROD,
            {"metadata": {"annotations": {"x": "y"}}, "status": {"conditions": [UNAVAILABLE]}},
            "Cluster default/prod is not Available, and cannot look after itself: "
            "WorkersAvailable: 1 of 3 InfrastructureReady: no; `kapy describe cluster prod`",
        ),
        (
            "itself",
            NODES,
            Key("", "prod-0"),
            node(ready="False", message="network plugin is not ready: cni config uninitialized"),
            "no Node of cluster prod is Ready: prod-0: network plugin is not ready: cni config "
            "uninitialized; it has no network for Pods (CNI); install one with `kubectl "
            "--kubeconfig prod.conf apply -f …`",
        ),
        (
            "itself",
            NODES,
            Key("", "prod-0"),
            node(ready="Unknown", message="Kubelet stopped posting node status."),
            "no Node of cluster prod is Ready: prod-0: Kubelet stopped posting node status.; "
            "`kubectl --kubeconfig prod.conf describe nodes` tells more",
        ),
        (
            "itself",
            NODES,
            Key("", "prod-0"),
            node(unschedulable=True),
            "all Nodes of cluster prod that are Ready are cordoned; `kubectl --kubeconfig prod.conf"
            " uncordon prod-0`",
        ),
    ],
    ids=["paused", "unavailable", "no network", "no kubelet", "cordoned"],
)
async def test_an_obstacle_to_a_pivot_is_reported_in_one_sentence(
    tmp_path: Path, side: str, resource: Resource, key: Key, patch: Document, sentence: str
) -> None:
    async with setup(tmp_path) as world:
        client: Client = getattr(world, side)
        await client.patch(resource, key, patch)
        if resource is NODES:
            status = {"status": patch["status"]}
            await client.patch(resource, key, status, subresource="status")
        with pytest.raises(ClusterctlError, match=re.escape(sentence)):
            await world.pivot().pivot()
        assert await world.clusters() == HERE
        assert await labels(world.itself) == set()


async def test_a_cluster_without_nodes_hosts_nothing(tmp_path: Path) -> None:
    async with setup(tmp_path) as world:
        await world.itself.delete(NODES, Key("", "prod-0"))
        with pytest.raises(ClusterctlError, match="cluster prod has no Node; wait until"):
            await world.pivot().pivot()


async def test_an_older_provider_in_the_cluster_is_reported(tmp_path: Path) -> None:
    async with setup(tmp_path) as world:
        await world.pivot().pivot()
        await world.pivot().unpivot()
        key = Key("infrastructure-acme-system", "infrastructure-acme")
        await world.itself.patch(PROVIDERS, key, {"version": "v0.9.0"})
        with pytest.raises(ClusterctlError, match=r"is v1\.0\.0 here and v0\.9\.0 in the cluster"):
            await world.pivot().pivot()
        assert await world.clusters() == HERE


def pod_that_waits(reason: str) -> Document:
    labels = {"app": "infrastructure-acme"}
    waiting = {"reason": reason, "message": "registry.example: no such host"}
    status = {"containerStatuses": [{"name": "manager", "state": {"waiting": waiting}}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "acme-1", "namespace": "infrastructure-acme-system", "labels": labels},
        "spec": {"containers": [{"name": "manager", "image": "registry.example/acme:v1.0.0"}]},
        "status": status,
    }


@pytest.mark.parametrize(
    ("local", "sentence"),
    [
        (
            {"infrastructure-acme": "/bin/acme"},
            "infrastructure-acme runs here as the program /bin/acme, and the cluster cannot get "
            "its image: ImagePullBackOff: registry.example: no such host; push an image",
        ),
        (
            {},
            'deployment "infrastructure-acme-manager" is not ready after 60 s: ImagePullBackOff: '
            "registry.example: no such host; `kubectl describe pods -n infrastructure-acme-system`",
        ),
    ],
    ids=["a local program", "an image"],
)
async def test_a_manager_that_cannot_start_is_reported_and_nothing_moves(
    tmp_path: Path, local: dict[str, str], sentence: str
) -> None:
    async with setup(tmp_path, kubelet=False) as world, asyncio.TaskGroup() as group:
        pivoting = group.create_task(refused(world, local))
        while await labels(world.itself) != INSTALLED:  # noqa: ASYNC110
            await asyncio.sleep(1)
        for document in (await world.itself.list(DEPLOYMENTS)).items:
            if Key.of(document).name != "infrastructure-acme-manager":
                await available(world, Key.of(document))
        pod = await world.itself.create(PODS, pod_that_waits("ImagePullBackOff"))
        status = {"status": pod_that_waits("ImagePullBackOff")["status"]}
        await world.itself.patch(PODS, Key.of(pod), status, subresource="status")
        assert sentence in await pivoting
        assert await world.clusters() == HERE
        await available(world, Key("infrastructure-acme-system", "infrastructure-acme-manager"))
        await world.pivot().pivot()
        assert await world.clusters() == THERE


async def refused(world: Setup, local: dict[str, str]) -> str:
    with pytest.raises(ClusterctlError) as error:
        await world.pivot(local=local).pivot()
    return str(error.value)


async def available(world: Setup, key: Key) -> None:
    conditions = [{"type": "Available", "status": "True"}]
    patch = {"status": {"conditions": conditions}}
    await world.itself.patch(DEPLOYMENTS, key, patch, subresource="status")


async def test_the_kubeconfig_is_kept_when_its_secret_has_moved(tmp_path: Path) -> None:
    async with setup(tmp_path) as world:
        folder = tmp_path / "pivots"
        path = await kubeconfig_file(world.plane, PROD, folder, console_of)
        assert (path.read_text(), path.stat().st_mode & 0o777) == ("x", 0o600)
        await world.plane.patch(
            SECRETS, Key("default", "prod-kubeconfig"), {"data": {"value": "eQ=="}}
        )
        assert (await kubeconfig_file(world.plane, PROD, folder, console_of)).read_text() == "y"
        await world.plane.delete(SECRETS, Key("default", "prod-kubeconfig"))
        assert await kubeconfig_file(world.plane, PROD, folder, console_of) == path
        with pytest.raises(
            ClusterctlError, match="there is no kubeconfig of Cluster default/other"
        ):
            await kubeconfig_file(world.plane, Key("default", "other"), folder, console_of)
        with pytest.raises(ClusterctlError, match="there is no kubeconfig of Cluster default/prod"):
            await kubeconfig_file(world.itself, PROD, folder, console_of)
