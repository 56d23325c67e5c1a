"""Clusters of a ClusterClass, and extensions that are asked about them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from random import Random

import msgspec
import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.extension_config import ExtensionConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.names import Annotation
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.settings import EMBEDDED_GATES, ControllerConfig, Settings
from kapy.client.client import Client
from kapy.conditions import is_true, message_of
from kapy.engine.options import ManagerOptions
from kapy.hooks.messages.message import UNTIMED_SECONDS
from kapy.hooks.transport import HookTransport
from kapy.kube import Document, Key, yaml
from kapy.kube.errors import Forbidden
from kapy.kube.http import User
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS, Resource
from kapy.testing.story import Story
from tests.hooks.extension import Extension, Network, config, waits
from tests.stories.plane import own_kinds
from tests.stories.test_upgrades import CLASS, MIDDLE, NEW, OLD, RECONCILED, upgrade

OPEN = Settings(
    controllers=ControllerConfig(
        manager=ManagerOptions(gates=replace(EMBEDDED_GATES, runtime_sdk=True))
    )
)
LIFE = (
    "BeforeClusterCreate",
    "AfterControlPlaneInitialized",
    "BeforeClusterUpgrade",
    "BeforeControlPlaneUpgrade",
    "AfterControlPlaneUpgrade",
    "BeforeWorkersUpgrade",
    "AfterWorkersUpgrade",
    "AfterClusterUpgrade",
    "BeforeClusterDelete",
)


@asynccontextmanager
async def running_with(
    network: HookTransport, settings: Settings = OPEN
) -> AsyncIterator[ManagementPlane]:
    """A plane with the RuntimeSDK gate open, and extensions that can be reached."""
    clock = loop_clock()
    async with management_plane(settings, clock=clock, random=Random(0), post=network) as result:
        yield result


@asynccontextmanager
async def plane(**extensions: Extension) -> AsyncIterator[Story]:
    """A person on such a plane."""
    async with running_with(Network(**extensions)) as result:
        yield Story(result.client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS])


async def discovered(story: Story, name: str) -> ExtensionConfig:
    return await story.until(
        ExtensionConfig,
        name,
        lambda value: is_true(value.status.conditions, "Discovered"),
        namespace="",
    )


async def available(story: Story) -> Cluster:
    return await story.until(
        Cluster, "herd", lambda cluster: is_true(cluster.status.conditions, "Available")
    )


async def test_extensions_follow_the_life_of_a_cluster() -> None:
    """The hooks are called in order, again after each "not yet", and get the expected requests."""
    lasting = Extension(**{hook.lower(): (hook, waits(1)) for hook in LIFE})
    async with plane(ext=lasting) as story:
        await story.create([config("ext", settings={"who": "herders"})])
        await discovered(story, "ext")
        await story.create(CLASS)
        await available(story)
        assert lasting.calls() == [
            *("beforeclustercreate", "beforeclustercreate"),
            "aftercontrolplaneinitialized",
        ]
        lasting.asked.clear()
        await upgrade(story, NEW)
        await story.until(
            Cluster,
            "herd",
            lambda cluster: (
                is_true(cluster.status.conditions, RECONCILED)
                and not cluster.metadata.annotations.get(Annotation.PENDING_HOOKS)
                and "afterclusterupgrade" in lasting.calls()
            ),
        )
        steps = [
            (
                entry.handler,
                entry.request.get("toKubernetesVersion") or entry.request["kubernetesVersion"],
            )
            for entry in lasting.asked
        ]
        assert steps == [
            *[("beforeclusterupgrade", NEW)] * 2,
            *[("beforecontrolplaneupgrade", MIDDLE)] * 2,
            *[("aftercontrolplaneupgrade", MIDDLE)] * 2,
            ("beforecontrolplaneupgrade", NEW),
            ("aftercontrolplaneupgrade", NEW),
            *[("beforeworkersupgrade", NEW)] * 2,
            *[("afterworkersupgrade", NEW)] * 2,
            *[("afterclusterupgrade", NEW)] * 2,
        ]
        first = lasting.asked[0].request
        assert first["settings"] == {"who": "herders"}
        assert first["fromKubernetesVersion"] == OLD
        assert first["controlPlaneUpgrades"] == [{"version": MIDDLE}, {"version": NEW}]
        assert first["cluster"]["kind"] == "Cluster"
        assert "status" not in first["cluster"]
        lasting.asked.clear()
        await story.client.delete(Cluster, Key("default", "herd"))
        await story.until_gone(Cluster, "herd")
        assert lasting.calls() == ["beforeclusterdelete"] * 2


async def test_a_removed_extension_blocks_nothing() -> None:
    """It says no time at which it could be asked again, and more than a condition can hold."""
    message = "no room" + " and no grass" * 5000
    quota = Extension(quota=("BeforeClusterCreate", waits(1000, -1, message)))
    async with plane(quota=quota) as story:
        await story.create([config("quota")])
        await discovered(story, "quota")
        await story.create(CLASS)
        held = "blocking Cluster topology creation: BeforeClusterCreate: no room"
        await story.until(
            Cluster,
            "herd",
            lambda cluster: held in message_of(cluster.status.conditions, RECONCILED),
        )
        await asyncio.sleep(UNTIMED_SECONDS + 1)
        assert quota.calls() == ["quota"] * 2
        began = asyncio.get_running_loop().time()
        await story.client.delete(ExtensionConfig, Key("", "quota"))
        await available(story)
        assert asyncio.get_running_loop().time() - began < UNTIMED_SECONDS
        assert quota.calls() == ["quota"] * 2


async def test_a_dead_extension_delays_only_its_own_clusters() -> None:
    """It is there when the plane starts and never answers; it is told, and what it holds says so,
    until it comes back."""
    dead = Extension(quota=("BeforeClusterCreate", {}))
    dead.down = "dial tcp 10.0.0.1:443: connect: connection refused"
    chosen = {"matchLabels": {"kubernetes.io/metadata.name": "default"}}
    async with plane(dead=dead) as story:
        await story.create([config("dead", namespaceSelector=chosen)])
        extension_config = await story.until(
            ExtensionConfig,
            "dead",
            lambda value: bool(message_of(value.status.conditions, "Discovered")),
            namespace="",
        )
        assert "connection refused" in message_of(extension_config.status.conditions, "Discovered")
        dead.down = ""
        await discovered(story, "dead")
        dead.down = "EOF"
        await story.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "far"}}])
        await story.create(CLASS.replace("namespace: default", "namespace: far"))
        await story.until(
            Cluster,
            "herd",
            lambda cluster: is_true(cluster.status.conditions, "Available"),
            namespace="far",
        )
        await story.create(CLASS)
        await story.until(
            Cluster,
            "herd",
            lambda cluster: "EOF" in message_of(cluster.status.conditions, RECONCILED),
        )
        await asyncio.sleep(600)
        calls = len(dead.calls())
        assert calls < 600 / 15
        dead.down, back = "", asyncio.get_running_loop().time()
        await available(story)
        assert asyncio.get_running_loop().time() - back < 60


PATCHED = "kapy.example/herder"


def herder(request: Document) -> Document:
    """Writes a variable of its own into a label of the control plane."""
    named = {variable["name"]: variable["value"] for variable in request["variables"]}
    return labels_of(named["herder"], request)


def labels_of(herder: str, request: Document) -> Document:
    patch = {"spec": {"template": {"metadata": {"labels": {PATCHED: herder}}}}}
    items = [
        {
            "uid": item["uid"],
            "patchType": "JSONMergePatch",
            "patch": base64.b64encode(msgspec.json.encode(patch)).decode(),
        }
        for item in request["items"]
        if item["object"]["kind"] == "KubeadmControlPlaneTemplate"
    ]
    return {"items": items}


def two_herders_at_most(request: Document) -> Document:
    replicas = [
        variable["value"]["controlPlane"]["replicas"]
        for item in request["items"]
        for variable in item.get("variables", ())
        if "controlPlane" in variable["value"]
    ]
    if max(replicas) > 3:
        return {"status": "Failure", "message": "five are too many"}
    return {}


async def test_extensions_patch_and_check_templates_with_variables_of_their_own() -> None:
    variable = {
        "name": "herder",
        "required": True,
        "schema": {"openAPIV3Schema": {"type": "string", "default": "Ada"}},
    }
    mutation = Extension(
        generate=("GeneratePatches", herder),
        validate=("ValidateTopology", two_herders_at_most),
        discover=("DiscoverVariables", {"variables": [variable]}),
    )
    *templates, meadow, herd = yaml.load_all(CLASS)
    external = {
        "generatePatchesExtension": "generate.ext",
        "validateTopologyExtension": "validate.ext",
        "discoverVariablesExtension": "discover.ext",
    }
    meadow["spec"]["patches"] = [{"name": "herder", "external": external}]
    async with plane(ext=mutation) as story:
        await story.create([*templates, meadow])
        missing = await story.until(
            ClusterClass,
            "meadow",
            lambda cluster_class: bool(
                message_of(cluster_class.status.conditions, "VariablesReady")
            ),
        )
        assert 'handler with name "discover.ext" has not been registered' in message_of(
            missing.status.conditions, "VariablesReady"
        )
        await story.create([config("ext")])
        await story.until(
            ClusterClass,
            "meadow",
            lambda cluster_class: is_true(cluster_class.status.conditions, "VariablesReady"),
        )
        await story.create([herd])
        await available(story)
        labels = {
            kubeadm_control_plane.metadata.labels.get(PATCHED)
            for kubeadm_control_plane in await story.all(KubeadmControlPlane)
        }
        assert labels == {"Ada"}
        request = len(mutation.calls())
        await asyncio.sleep(300)
        assert len(mutation.calls()) == request  # nothing has changed: nobody is asked
        await asyncio.sleep(700)
        assert mutation.calls()[request:] == ["generate", "validate"]  # but not for ever
        replicas = {"spec": {"topology": {"controlPlane": {"replicas": 5}}}}
        await story.merge(Cluster, "herd", replicas)
        refused = 'extension handler "validate.ext": got failure response with message: five are'
        await story.until(
            Cluster,
            "herd",
            lambda cluster: refused in message_of(cluster.status.conditions, RECONCILED),
        )
        await story.client.delete(ExtensionConfig, Key("", "ext"))
        removal = 'handler with name "discover.ext" has not been registered'
        await story.until(
            ClusterClass,
            "meadow",
            lambda cluster_class: (
                removal in message_of(cluster_class.status.conditions, "VariablesReady")
            ),
        )


def patched_class() -> list[Document]:
    """The class whose control planes an extension labels, and a Cluster of it."""
    documents = yaml.load_all(CLASS)
    external = {
        "generatePatchesExtension": "generate.ext",
        "validateTopologyExtension": "validate.ext",
    }
    for document in documents:
        if document["kind"] == "ClusterClass":
            document["spec"]["patches"] = [{"name": "herder", "external": external}]
    return documents


def labelling() -> Extension:
    return Extension(
        generate=("GeneratePatches", lambda request: labels_of("Ada", request)),
        validate=("ValidateTopology", {}),
    )


async def control_plane_label(story: Story) -> str | None:
    (control_plane,) = await story.all(KubeadmControlPlane)
    return control_plane.metadata.labels.get(PATCHED)


async def test_every_reconcile_of_a_topology_calls_the_extensions() -> None:
    """A change that the request does not show, and then a new release of the extension."""
    mutation = labelling()
    async with plane(ext=mutation) as story:
        await story.create([config("ext")])
        await discovered(story, "ext")
        await story.create(patched_class())
        await available(story)
        await asyncio.sleep(60)
        request = len(mutation.calls())
        (control_plane,) = await story.all(KubeadmControlPlane)
        status = {"status": {"conditions": [_said("Grazing")]}}
        await story.client.patch(
            KubeadmControlPlane, control_plane.key, status, subresource="status"
        )
        await asyncio.sleep(60)
        calls = mutation.calls()[request:]
        assert calls
        assert calls == ["generate", "validate"] * (len(calls) // 2)
        assert await control_plane_label(story) == "Ada"
        mutation.handlers["generate"] = ("GeneratePatches", {"items": []})
        await asyncio.sleep(700)
        assert await control_plane_label(story) is None


async def test_a_resync_calls_the_extensions() -> None:
    """Whatever the period is, and although nothing has changed."""
    mutation = labelling()
    manager = replace(OPEN.controllers.manager, sync_period=timedelta(minutes=2))
    settings = replace(OPEN, controllers=replace(OPEN.controllers, manager=manager))
    async with running_with(Network(ext=mutation), settings) as result:
        story = Story(result.client, own_kinds())
        await story.create([config("ext")])
        await discovered(story, "ext")
        await story.create(patched_class())
        await available(story)
        await asyncio.sleep(60)
        request = len(mutation.calls())
        await asyncio.sleep(4 * 120)
        assert mutation.calls()[request:] == ["generate", "validate"] * 4


def _said(kind: str) -> Document:
    return {
        "type": kind,
        "status": "True",
        "reason": kind,
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


@pytest.mark.parametrize(
    ("role", "may"), [("cluster-admin", True), ("admin", False), ("edit", False), ("view", False)]
)
async def test_only_cluster_administrators_register_extensions(role: str, may: bool) -> None:
    """Extensions read and patch every Cluster, so that only administrators may register them."""
    async with running_with(Network()) as result:
        binding = {
            "metadata": {"name": "ada"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": role,
            },
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ada"}],
        }
        bindings = Resource(
            "rbac.authorization.k8s.io",
            "v1",
            "clusterrolebindings",
            "ClusterRoleBinding",
            namespaced=False,
        )
        await result.client.create(bindings, binding)
        ada = Client(result.server.transport(User("ada", ("system:authenticated",))))
        with nullcontext() if may else pytest.raises(Forbidden, match="cannot create resource"):
            await ada.create(ExtensionConfig.RESOURCE, config("ext"))
