"""The flags of Cluster API's managers, and what they mean for a whole plane."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.features import FeatureGates
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.cluster_progress import is_complete
from kapy.apps.feature_gates import NAMES, feature_gates, notices
from kapy.apps.manager.programs import PROGRAMS
from kapy.apps.manager_flags import FLAGS, InvalidFlag, controller_config, flags_of
from kapy.apps.manifests import class_sample, sample
from kapy.apps.program.options import flags_of as flags_of_program
from kapy.apps.settings import EMBEDDED_GATES, ControllerConfig, ExtensionCalls, Settings
from kapy.cli.manager import BOOTSTRAP_KUBEADM, CONTROL_PLANE_KUBEADM, CORE, INFRASTRUCTURE_DEV
from kapy.client.kinds import Kinds
from kapy.clusterctl.describe.source import CLUSTERS
from kapy.engine.crd_migration import PHASES
from kapy.engine.options import CONCURRENCY, ManagerOptions
from kapy.kube import Document, Key
from kapy.kube.errors import Forbidden, Invalid
from kapy.kube.names import NAMESPACES

UPSTREAMS = Path(__file__).parents[1] / "data" / "manager_flags.json"
MANAGERS = {
    item.name: item for item in (CORE, BOOTSTRAP_KUBEADM, CONTROL_PLANE_KUBEADM, INFRASTRUCTURE_DEV)
}
NOTHING = {"false": "", "0": "", "All": "[All]"}
"""Defaults that upstream's help does not show, or shows otherwise."""
WITHOUT_OBJECTS = {"inmemory-housekeeping", "crdmigrator"}
"""Controllers whose keys are no objects of the API, or CRDs, which no filter is about."""


def plane(**options: Any) -> AbstractAsyncContextManager[ManagementPlane]:
    config = ControllerConfig(manager=ManagerOptions(**{"gates": EMBEDDED_GATES, **options}))
    return management_plane(Settings(controllers=config), clock=loop_clock(), random=Random(0))


async def post(
    there: ManagementPlane, namespace: str, labels: dict[str, str] | None = None
) -> None:
    """The sample cluster in a namespace of its own, every object of it labelled."""
    of = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await there.client.create(NAMESPACES, of)
    kinds = Kinds(there.client)
    for document in sample():
        document["metadata"]["namespace"] = namespace
        for place in (document, *templates(document)):
            place.setdefault("metadata", {}).setdefault("labels", {}).update(labels or {})
        await there.client.create(await kinds.of(document), document)


def templates(document: Document) -> list[Document]:
    """The parts of a document that have the labels of Machines."""
    spec = document["spec"]
    match document["kind"]:
        case "KubeadmControlPlane":
            return [spec["machineTemplate"]]
        case "MachineDeployment":
            return [spec["template"]]
    return []


async def complete(there: ManagementPlane, namespace: str) -> bool:
    return is_complete(await there.client.get(CLUSTERS, Key(namespace, "capybara")))


async def untouched(there: ManagementPlane, namespace: str) -> bool:
    """Whether no controller has written anything into a namespace."""
    cluster = await there.client.get(Cluster, Key(namespace, "capybara"))
    machines = await there.client.list(Machine, namespace)
    own = not cluster.metadata.finalizers and not cluster.status.conditions
    return own and not machines.items


async def test_a_manager_can_be_limited_to_one_namespace() -> None:
    async with plane(namespace="a") as there:
        await post(there, "a")
        await post(there, "b")
        await asyncio.sleep(60)
        assert await complete(there, "a")
        assert await untouched(there, "b")


async def test_a_watch_filter_ignores_objects_without_the_label() -> None:
    mine = {"cluster.x-k8s.io/watch-filter": "mine"}
    async with plane(watch_filter="mine") as there:
        await post(there, "a", mine)
        await post(there, "b")
        await post(there, "c", {"cluster.x-k8s.io/watch-filter": "theirs"})
        await asyncio.sleep(60)
        assert await complete(there, "a")
        assert await untouched(there, "b")
        assert await untouched(there, "c")


async def test_an_object_that_gets_the_label_is_reconciled() -> None:
    patch = {"metadata": {"labels": {"cluster.x-k8s.io/watch-filter": "mine"}}}
    async with plane(watch_filter="mine") as there:
        await post(there, "a")
        await asyncio.sleep(10)
        await there.client.patch(CLUSTERS, Key("a", "capybara"), patch)
        await asyncio.sleep(10)
        assert (await there.client.get(Cluster, Key("a", "capybara"))).metadata.finalizers


async def test_the_watch_filter_applies_to_every_controller() -> None:
    async with plane() as there:
        held = {controller.name for controller, _ in there.runtime.reconciled}
        names = {controller.name for controller in there.runtime.controllers}
    assert names - held == WITHOUT_OBJECTS


async def test_every_concurrency_flag_belongs_to_a_controller() -> None:
    wanted = {name: number for number, name in enumerate(CONCURRENCY, start=1)}
    gates = replace(EMBEDDED_GATES, runtime_sdk=True)
    async with plane(concurrency=wanted, gates=gates) as there:
        concurrency = {
            controller.name: controller.concurrency for controller in there.runtime.controllers
        }
        concurrency["clustercache"] = there.cluster_cache.controller.concurrency
        concurrency["clustertopology"] = concurrency["topology/cluster"]
    assert {name: concurrency.get(name) for name in wanted} == wanted


async def test_a_sync_period_reconciles_everything_without_a_write() -> None:
    async with plane(sync_period=timedelta(minutes=10)) as there:
        await post(there, "a")
        await asyncio.sleep(300)
        before, version = outcomes(there), await latest(there)
        await asyncio.sleep(600)
        after = outcomes(there)
        assert await latest(there) == version
    looked = {name for name in after if after[name] > before[name]}
    assert {"cluster", "machine", "kubeadmcontrolplane", "devmachine"} <= looked


def outcomes(there: ManagementPlane) -> dict[str, int]:
    controllers = there.runtime.controllers
    return {
        controller.name: sum(controller.counters.outcomes.values()) for controller in controllers
    }


async def latest(there: ManagementPlane) -> str:
    """The resourceVersion that anything was last written with."""
    return (await there.client.list(CLUSTERS)).resource_version


POOL = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "MachinePool",
    "metadata": {"name": "pool", "namespace": "default"},
    "spec": {
        "clusterName": "c",
        "template": {
            "spec": {
                "clusterName": "c",
                "bootstrap": {"dataSecretName": "s"},
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "DevMachinePool",
                    "name": "pool",
                },
            }
        },
    },
}


async def test_a_disabled_feature_gate_excludes_objects_and_controllers() -> None:
    async with plane(gates=FeatureGates(machine_pool=False)) as there:
        with pytest.raises(Forbidden, match="MachinePool feature flag"):
            await there.client.create(MachinePool.RESOURCE, POOL)
        names = {controller.name for controller in there.runtime.controllers}
        assert not {"machinepool", "devmachinepool"} & names
        # Said so, this plane has none of the gates that are usual for it.
        topologies = {"clusterclass", "topology/cluster", "topology/machineset"}
        assert not topologies & names
        (cluster,) = (document for document in class_sample() if document["kind"] == "Cluster")
        with pytest.raises(Invalid, match="ClusterTopology feature flag"):
            await there.client.create(Cluster.RESOURCE, cluster)
    async with plane() as there:
        assert topologies <= {controller.name for controller in there.runtime.controllers}
        await there.client.create(Cluster.RESOURCE, cluster)
        await there.client.create(MachinePool.RESOURCE, POOL)
        assert {"machinepool", "devmachinepool"} <= {
            controller.name for controller in there.runtime.controllers
        }


@pytest.mark.parametrize(
    ("texts", "changed"),
    [
        ([], {}),
        (["ClusterTopology=true"], {"cluster_topology": True}),
        (["RuntimeSDK=1, MachinePool=F"], {"runtime_sdk": True, "machine_pool": False}),
        (["MachinePool=false", "MachinePool=true"], {}),
        (
            ["AllAlpha=true,ClusterTopology=false"],
            {
                "in_place_updates": True,
                "runtime_sdk": True,
                "kubeadm_bootstrap_format_ignition": True,
                "machine_taint_propagation": True,
            },
        ),
        (
            ["AllBeta=false"],
            {
                "machine_pool": False,
                "machine_set_preflight_checks": False,
                "priority_queue": False,
                "reconciler_rate_limiting": False,
            },
        ),
    ],
)
def test_feature_gates_are_read(texts: Sequence[str], changed: dict[str, bool]) -> None:
    assert feature_gates(texts) == FeatureGates(**changed)


def test_unset_gates_keep_the_defaults_of_their_program() -> None:
    flags: dict[str, list[str]] = {"feature-gates": ["RuntimeSDK=true"]}
    assert not controller_config(flags).manager.gates.cluster_topology
    embedded = controller_config(flags, gates=EMBEDDED_GATES).manager.gates
    assert (embedded.cluster_topology, embedded.runtime_sdk) == (True, True)
    flags["feature-gates"].append("AllAlpha=false")
    closed = controller_config(flags, gates=EMBEDDED_GATES).manager.gates
    assert (closed.cluster_topology, closed.runtime_sdk) == (False, True)


def test_changing_a_feature_gate_of_little_effect_causes_a_warning() -> None:
    gates = feature_gates(["PriorityQueue=false,MachinePool=false"])
    assert notices(gates) == ["feature gate PriorityQueue changes nothing here"]
    assert notices(FeatureGates()) == []


def test_gates_have_upstreams_names() -> None:
    assert sorted(NAMES) == [
        "ClusterTopology",
        "InPlaceUpdates",
        "KubeadmBootstrapFormatIgnition",
        "MachinePool",
        "MachineSetPreflightChecks",
        "MachineTaintPropagation",
        "MachineWaitForVolumeDetachConsiderVolumeAttachments",
        "PriorityQueue",
        "ReconcilerRateLimiting",
        "RuntimeSDK",
    ]


def test_flags_have_their_defaults() -> None:
    config = controller_config({})
    assert config == ControllerConfig(manager=ManagerOptions(sync_period=timedelta(minutes=10)))


def test_flags_set_the_options_of_controllers() -> None:
    config = controller_config(
        {
            "namespace": ["a"],
            "watch-filter": ["mine"],
            "machine-concurrency": ["7"],
            "sync-period": ["1h"],
            "remote-connection-grace-period": ["2m"],
            "remote-conditions-grace-period": ["10m"],
            "bootstrap-token-ttl": ["30m"],
            "machineset-preflight-checks": ["KubeadmVersionSkew,ControlPlaneIsStable"],
            "additional-sync-machine-labels": ["^a/.*", "b,c"],
            "runtime-extension-max-timeout": ["5s"],
            "runtime-extension-client-cert-file": ["tls.crt"],
            "runtime-extension-client-key-file": ["tls.key"],
        }
    )
    assert (config.manager.namespace, config.manager.watch_filter) == ("a", "mine")
    assert config.manager.concurrency == {**CONCURRENCY, "machine": 7}
    assert config.manager.sync_period == timedelta(hours=1)
    assert config.connection_grace == timedelta(minutes=2)
    assert config.conditions_grace == timedelta(minutes=10)
    assert config.token_life == timedelta(minutes=30)
    assert config.preflight_checks == ("KubeadmVersionSkew", "ControlPlaneIsStable")
    assert [label.text for label in config.machine_labels] == ["^a/.*", "b", "c"]
    assert config.extensions == ExtensionCalls(
        max_timeout=timedelta(seconds=5), certificate=Path("tls.crt"), key=Path("tls.key")
    )


@pytest.mark.parametrize(
    ("flag", "text", "sentence"),
    [
        (
            "feature-gates",
            "InPlaceUpdates=true",
            "feature gate InPlaceUpdates needs RuntimeSDK, because extensions make the updates; ",
        ),
        (
            "feature-gates",
            "ClusterTopologie=true",
            "there is no feature gate ClusterTopologie; did you mean ClusterTopology?",
        ),
        ("feature-gates", "MachinePool", "say MachinePool=true or MachinePool=false"),
        ("machine-concurrency", "0", "'0' is not a number of at least 1"),
        ("sync-period", "10", "invalid duration"),
        ("sync-period", "-1s", "-1s is no length of time that can pass"),
        ("machineset-preflight-checks", "Al", "there is no preflight check 'Al' (there are All"),
        (
            "skip-crd-migration-phases",
            "Cleanup",
            "there is no phase 'Cleanup' (there are StorageVersionMigration, CleanupManagedFields;",
        ),
        ("additional-sync-machine-labels", "(", "'(' is no regular expression"),
        ("remote-conditions-grace-period", "40s", "must be greater than --remote-connection-grace"),
        ("remote-conditions-grace-period", "1m", "must be at least 2m0s"),
        ("runtime-extension-max-timeout", "31s", "whole seconds up to 30s"),
        ("runtime-extension-client-cert-file", "tls.crt", "belong together"),
    ],
)
def test_an_invalid_value_is_refused_with_its_flag(flag: str, text: str, sentence: str) -> None:
    with pytest.raises(InvalidFlag) as refused:
        controller_config({flag: [text]})
    assert str(refused.value).startswith(f"--{flag}")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("texts", "skipped"),
    [
        ([], set()),
        (["StorageVersionMigration"], {"StorageVersionMigration"}),
        (["StorageVersionMigration, CleanupManagedFields"], set(PHASES)),
        (["StorageVersionMigration", "CleanupManagedFields"], set(PHASES)),
        (["All"], set(PHASES)),
    ],
)
async def test_phases_of_the_migration_of_crds_can_be_skipped(
    texts: list[str], skipped: set[str]
) -> None:
    config = controller_config({"skip-crd-migration-phases": texts})
    assert config.skipped_migration_phases == skipped
    async with management_plane(
        Settings(controllers=config), clock=loop_clock(), random=Random(1)
    ) as there:
        names = {controller.name for controller in there.runtime.controllers}
        assert ("crdmigrator" in names) == (skipped != set(PHASES))


def test_each_manager_has_common_flags_and_its_own() -> None:
    entry = {
        "namespace",
        "watch-filter",
        "feature-gates",
        "sync-period",
        "clustercache-concurrency",
        "skip-crd-migration-phases",
    }
    bootstrap = {flag.name for flag in flags_of("kubeadm-bootstrap")}
    assert bootstrap == entry | {"bootstrap-token-ttl", "kubeadmconfig-concurrency"}
    control_plane = {flag.name for flag in flags_of("kubeadm-control-plane")}
    own = {
        "kubeadmcontrolplane-concurrency",
        "remote-conditions-grace-period",
        "runtime-extension-client-cert-file",
        "runtime-extension-client-key-file",
        "runtime-extension-max-timeout",
    }
    assert control_plane == entry | own
    assert len({flag.name for flag in FLAGS}) == len(FLAGS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_managers_have_upstreams_flags_with_upstreams_defaults(name: str) -> None:
    """`tests/data/manager_flags.json` is what upstream's managers print with --help; they set the
    level of the log themselves."""
    kind = PROGRAMS[name].manager
    ours = {flag.name: flag.default for flag in [*flags_of(kind), *flags_of_program(kind)]}
    for option in MANAGERS[name].params:
        ours.setdefault(option.opts[-1].removeprefix("--"), str(option.default))
    theirs: dict[str, str] = json.loads(UPSTREAMS.read_text())[name]
    assert {flag: NOTHING.get(ours[flag], ours[flag]) for flag in theirs} == theirs
