"""upgrade plan and apply: what is found, what is refused, and what is left."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Settings
from kapy.client.client import Client
from kapy.clusterctl import install
from kapy.clusterctl.certificates import CERTIFICATES
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.inventory import CONTRACT, PROVIDERS, Inventory
from kapy.clusterctl.migration import migrate
from kapy.clusterctl.progress import no_progress
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.upgrade import Target, hooks_lost_by, upgrade, upgrade_plans
from kapy.clusterctl.upgrade.hooks import HOOK_VERSIONS, OPENAPI
from kapy.hooks.catalog import Catalog
from kapy.hooks.hook import Deprecation
from kapy.hooks.messages.lifecycle import BEFORE_CLUSTER_CREATE
from kapy.kube import Document, Key
from kapy.kube.names import CRDS, DEPLOYMENTS, SECRETS, Resource
from tests.clusterctl.releases import (
    ACME,
    ACME_THINGS,
    CORE,
    Releases,
    components,
    crd,
    management_cluster,
)

V1BETA2 = "v1beta2"
INFRASTRUCTURE = ProviderType.INFRASTRUCTURE
MANAGER = Key("infrastructure-acme-system", "infrastructure-acme-manager")


@pytest.fixture
def releases(tmp_path: Path) -> Releases:
    return Releases(tmp_path)


async def init(client: Client, releases: Releases) -> None:
    names = {
        ProviderType.CORE: ["cluster-api:v1.0.0"],
        ProviderType.BOOTSTRAP: ["kubeadm:v1.0.0"],
        ProviderType.CONTROL_PLANE: ["kubeadm:v1.0.0"],
        INFRASTRUCTURE: ["acme:v1.0.0"],
    }
    await install.init(
        client,
        releases.config(),
        RequestedProviders(names),
        clock=loop_clock(),
        progress=no_progress,
    )


async def apply(client: Client, releases: Releases, target: Target) -> None:
    await upgrade(client, releases.config(), target, clock=loop_clock(), progress=no_progress)


async def versions(client: Client) -> dict[str, str]:
    return {installed.label: installed.version for installed in await Inventory(client).installed()}


def acme(version: str) -> Target:
    return Target(names={INFRASTRUCTURE: [f"acme:{version}"]})


async def planned(client: Client, releases: Releases) -> dict[str, dict[str, str]]:
    plans = await upgrade_plans(client, releases.config(), progress=no_progress)
    return {
        plan.contract: {item.provider.label: item.next_version for item in plan.items}
        for plan in plans
    }


async def test_the_plan_has_the_newest_release_of_each_contract(releases: Releases) -> None:
    series = {"1.0": V1BETA2, "1.1": V1BETA2, "1.2": "v1beta3"}
    for version in ("v1.0.3", "v1.1.0", "v1.1.2", "v1.2.0", "v1.3.0-rc.0"):
        releases.add(*ACME, version, series={**series, "1.3": "v1beta3"})
    async with management_cluster() as client:
        await init(client, releases)
        assert await planned(client, releases) == {
            V1BETA2: {
                "bootstrap-kubeadm": "",
                "cluster-api": "",
                "control-plane-kubeadm": "",
                "infrastructure-acme": "v1.1.2",
            }
        }


async def test_a_new_contract_is_planned_only_for_all_together(releases: Releases) -> None:
    series = {"1.0": V1BETA2, "2.0": "v1beta3"}
    kubeadm = [("kubeadm", ProviderType.BOOTSTRAP), ("kubeadm", ProviderType.CONTROL_PLANE)]
    for entry in (CORE, *kubeadm):
        releases.add(*entry, "v2.0.0", series=series)
    async with management_cluster() as client:
        await init(client, releases)
        assert list(await planned(client, releases)) == [V1BETA2]
        releases.add(*ACME, "v2.0.0", series=series)
        plans = await planned(client, releases)
        assert set(plans["v1beta3"].values()) == {"v2.0.0"}
        with pytest.raises(ClusterctlError, match="could only upgrade to v1beta2"):
            await apply(client, releases, Target(contract="v1beta3"))


async def test_an_upgrade_replaces_all_but_definitions_and_good_certificates(
    releases: Releases,
) -> None:
    releases.add(*ACME, "v1.0.1")
    thing: Document = {
        "apiVersion": ACME_THINGS.api_version,
        "kind": "AcmeThing",
        "metadata": {"name": "one", "namespace": MANAGER.namespace},
    }
    async with management_cluster() as client:
        await init(client, releases)
        await client.create(ACME_THINGS, thing)
        before = await client.get(DEPLOYMENTS, MANAGER)
        secrets = (await client.list(SECRETS, MANAGER.namespace)).items
        await apply(client, releases, Target(contract=CONTRACT))
        after = await client.get(DEPLOYMENTS, MANAGER)
        assert (await versions(client))["infrastructure-acme"] == "v1.0.1"
        assert (await client.list(SECRETS, MANAGER.namespace)).items == secrets
        await client.get(ACME_THINGS, Key.of(thing))
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    (container,) = after["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith("acme:v1.0.1")


async def test_cert_manager_takes_over_with_an_upgrade(releases: Releases) -> None:
    releases.add(*ACME, "v1.0.1")
    async with management_cluster(controllers=True) as client:
        await init(client, releases)
        for name in ("Certificate", "Issuer"):
            await client.create(CRDS, crd("cert-manager.io", name, versions=("v1",)))
        await apply(client, releases, Target(contract=CONTRACT))
        assert (await client.list(SECRETS, MANAGER.namespace)).items == []
        (request,) = (await client.list(CERTIFICATES, MANAGER.namespace)).items
    assert request["spec"]["secretName"] == "infrastructure-acme-webhook-cert"


async def test_the_old_version_ends_before_the_new_one_begins(releases: Releases) -> None:
    releases.add(*ACME, "v1.0.1")
    async with management_cluster() as client, asyncio.TaskGroup() as group:
        await init(client, releases)
        running = {"status": {"replicas": 1, "observedGeneration": 1}}
        await client.patch(DEPLOYMENTS, MANAGER, running, subresource="status")
        work = group.create_task(apply(client, releases, acme("v1.0.1")))
        await asyncio.sleep(10)
        old = await client.get(DEPLOYMENTS, MANAGER)
        assert old["spec"]["replicas"] == 0
        assert not work.done()
        await client.patch(DEPLOYMENTS, MANAGER, {"status": {"replicas": 0}}, subresource="status")
        await asyncio.sleep(1)
        assert work.done()


SERIES = {f"1.{minor}": V1BETA2 for minor in range(20)}
REFUSED = [
    (Target(names={ProviderType.CORE: ["cluster-api:v9.9.9"]}), "does not match any release"),
    (Target(names={INFRASTRUCTURE: ["other:v1.0.0"]}), "in not part of the management cluster"),
    (Target(names={INFRASTRUCTURE: ["acme"]}), "should be in the form namespace/provider:version"),
    (Target(names={INFRASTRUCTURE: ["a/b/acme:v1.0.1"]}), "should be in the form"),
    (acme("1.x"), 'failed to parse version "1.x"'),
    (acme("v3.0.0"), "implements the v1beta3 contract version, while the core provider supports"),
    (Target(names={ProviderType.CORE: ["cluster-api:v1.15.0"]}), "can't skip more than 3 versions"),
]


@pytest.mark.parametrize(("target", "sentence"), REFUSED)
async def test_an_upgrade_that_would_break_is_refused_with_its_reason(
    target: Target, sentence: str, releases: Releases
) -> None:
    releases.add(*CORE, "v1.11.0", series=SERIES)
    releases.add(*CORE, "v1.15.0", series=SERIES)
    releases.add(*ACME, "v3.0.0", series={"1.0": V1BETA2, "3.0": "v1beta3"})
    async with management_cluster() as client:
        await init(client, releases)
        core = Key("cluster-api-system", "cluster-api")
        await client.patch(PROVIDERS, core, {"version": "v1.11.0"})
        before = await client.list(DEPLOYMENTS)
        with pytest.raises(ClusterctlError) as refused:
            await apply(client, releases, target)
        assert sentence in str(refused.value)
        assert (await client.list(DEPLOYMENTS)).items == before.items


async def test_two_instances_of_a_provider_are_reported(releases: Releases) -> None:
    releases.add(*ACME, "v1.0.1")
    async with management_cluster() as client:
        await init(client, releases)
        first = await client.get(PROVIDERS, Key(MANAGER.namespace, "infrastructure-acme"))
        metadata = {"name": "infrastructure-acme", "namespace": "cluster-api-system"}
        await client.create(PROVIDERS, {**first, "metadata": metadata})
        with pytest.raises(ClusterctlError, match="multiple instance of provider type"):
            await apply(client, releases, Target(contract=CONTRACT))


async def test_a_version_that_is_missing_is_reported_before_anything_is_stopped(
    releases: Releases,
) -> None:
    releases.add(*ACME, "v1.0.1")
    async with management_cluster() as client:
        await init(client, releases)
        (
            releases.folder / "infrastructure-acme" / "v1.0.1" / "infrastructure-components.yaml"
        ).unlink()
        with pytest.raises(ClusterctlError, match=r"infrastructure-components\.yaml"):
            await apply(client, releases, acme("v1.0.1"))
        assert (await client.get(DEPLOYMENTS, MANAGER))["spec"]["replicas"] == 1


async def test_a_dropped_version_is_migrated_before_the_upgrade() -> None:
    """Objects are written anew, and the CRD says that only one version is stored."""
    old = crd("example.com", "Thing", versions=("v1", "v2"))
    new = crd("example.com", "Thing", versions=("v2",))
    async with management_cluster(controllers=True) as client:
        await client.create(CRDS, crd("example.com", "Thing", versions=("v1",)))
        things = Resource("example.com", "v1", "things", "Thing")
        await asyncio.sleep(0)
        await client.create(
            things,
            {
                "apiVersion": "example.com/v1",
                "kind": "Thing",
                "metadata": {"name": "one", "namespace": "default"},
            },
        )
        await client.patch(CRDS, Key.of(old), {"spec": old["spec"]})
        with pytest.raises(Exception, match="storedVersions"):
            await client.patch(CRDS, Key.of(new), {"spec": new["spec"]})
        await migrate(client, [new], no_progress, only_dropped=True)
        assert (await client.get(CRDS, Key.of(new)))["status"]["storedVersions"] == ["v2"]
        await client.patch(CRDS, Key.of(new), {"spec": new["spec"]})


async def test_a_crd_without_the_storage_version_is_refused() -> None:
    async with management_cluster() as client:
        await client.create(CRDS, crd("example.com", "Thing", versions=("v1",)))
        with pytest.raises(ClusterctlError, match="upgrade to a version in between first"):
            await migrate(client, [crd("example.com", "Thing", versions=("v2",))], no_progress)


EXTENSIONS = Resource("runtime.cluster.x-k8s.io", "v1beta2", "extensionconfigs", "ExtensionConfig")


HOOKS = "hooks.runtime.cluster.x-k8s.io"
GOING = Deprecation("v1beta1", "v0.9", "2026-01-01", "v0.9", "2026-01-01")


def hooks_crd(**annotations: str) -> Document:
    return crd("runtime.cluster.x-k8s.io", "ExtensionConfig", annotations=annotations)


def openapi(*paths: str) -> str:
    return json.dumps({"openapi": "3.0.0", "paths": {f"/{path}": {"post": {}} for path in paths}})


def extension(name: str, api_version: str, hook: str) -> Document:
    request = {"apiVersion": api_version, "hook": hook}
    return {
        "apiVersion": EXTENSIONS.api_version,
        "kind": "ExtensionConfig",
        "metadata": {"name": name, "namespace": "cluster-api-system"},
        "status": {"handlers": [{"name": f"ask.{name}", "requestHook": request}]},
    }


CREATE = f"gate: handler ask.gate serves BeforeClusterCreate {HOOKS}/v1alpha1"


@pytest.mark.parametrize(
    ("paths", "versions_called", "deprecation", "lost"),
    [
        pytest.param([f"{HOOKS}/v1alpha1/beforeclustercreate/{{name}}"], "", None, [], id="called"),
        pytest.param(
            [f"{HOOKS}/v1alpha1/discovery", f"{HOOKS}/v1beta1/beforeclustercreate/{{name}}"],
            "",
            None,
            [CREATE],
            id="the OpenAPI document of the release has another version",
        ),
        pytest.param(None, f"{HOOKS}/v1beta1", None, [CREATE], id="its CRD names others"),
        pytest.param(None, f"{HOOKS}/v1beta1, {HOOKS}/v1alpha1", None, [], id="its CRD names it"),
        pytest.param(None, "", None, [], id="nothing is told"),
        pytest.param(None, "", GOING, [CREATE], id="nothing is told, and its time is over"),
    ],
)
async def test_extensions_that_would_stop_working_are_named(
    releases: Releases,
    monkeypatch: pytest.MonkeyPatch,
    paths: list[str] | None,
    versions_called: str,
    deprecation: Deprecation | None,
    lost: list[str],
) -> None:
    """Hooks of another group are of whoever has them, and no business of core's."""
    catalog = Catalog([replace(BEFORE_CLUSTER_CREATE, deprecation=deprecation)])
    monkeypatch.setattr("kapy.hooks.catalog.own_catalog", lambda: catalog)
    hooks = hooks_crd(**({HOOK_VERSIONS: versions_called} if versions_called else {}))
    files = {} if paths is None else {OPENAPI: openapi(*paths)}
    objects = [*components(*CORE, "v1.0.1"), hooks]
    releases.add(*CORE, "v1.0.1", objects=objects, files=files)
    core = Target(names={ProviderType.CORE: ["cluster-api:v1.0.1"]})
    async with management_cluster() as client:
        await init(client, releases)
        await client.create(CRDS, hooks_crd())
        await client.create(
            EXTENSIONS, extension("gate", f"{HOOKS}/v1alpha1", "BeforeClusterCreate")
        )
        await client.create(EXTENSIONS, extension("own", "hooks.acme.example/v1", "BeforeMilking"))
        plans = await upgrade_plans(client, releases.config(), progress=no_progress)
        assert await hooks_lost_by(client, plans, releases.config()) == lost
        if lost:
            with pytest.raises(ClusterctlError, match=re.escape(lost[0])):
                await apply(client, releases, core)
            assert (await versions(client))["cluster-api"] == "v1.0.0"
        await apply(client, releases, replace(core, lose_hooks=True))
        assert (await versions(client))["cluster-api"] == "v1.0.1"


async def test_a_release_with_unreadable_hooks_is_reported(releases: Releases) -> None:
    releases.add(*CORE, "v1.0.1", files={OPENAPI: "paths: 5"})
    async with management_cluster() as client:
        await init(client, releases)
        await client.create(CRDS, hooks_crd())
        await client.create(
            EXTENSIONS, extension("gate", f"{HOOKS}/v1alpha1", "BeforeClusterCreate")
        )
        with pytest.raises(ClusterctlError, match="of the release is no OpenAPI document"):
            await apply(client, releases, Target(names={ProviderType.CORE: ["cluster-api:v1.0.1"]}))


async def test_a_plane_is_upgraded_with_kapy_itself(releases: Releases) -> None:
    """Its repository is not even asked for; what was installed beside it is upgraded."""
    releases.add(*ACME, "v1.0.1")
    async with management_plane(Settings(inventory=True), clock=loop_clock()) as plane:
        names = {INFRASTRUCTURE: ["acme:v1.0.0"]}
        config = releases.config()
        await install.init(
            plane.client,
            config,
            RequestedProviders(names),
            clock=loop_clock(),
            progress=no_progress,
        )
        plans = await planned(plane.client, releases)
        assert [label for label, version in plans[V1BETA2].items() if version] == [
            "infrastructure-acme"
        ]
        core = Target(names={ProviderType.CORE: ["cluster-api:v1.15.0"]})
        with pytest.raises(ClusterctlError, match="is upgraded with kapy itself"):
            await apply(plane.client, releases, core)
        await apply(plane.client, releases, Target(contract=CONTRACT))
        assert (await versions(plane.client))["infrastructure-acme"] == "v1.0.1"


async def test_metadata_without_the_installed_series_is_reported(releases: Releases) -> None:
    async with management_cluster() as client:
        await init(client, releases)
        releases.add(*ACME, "v1.1.0", series={"1.1": V1BETA2})
        with pytest.raises(ClusterctlError, match=r"version v1\.0\.0 \(the current version\)"):
            await planned(client, releases)
        path = releases.folder / "infrastructure-acme" / "v1.1.0" / "metadata.yaml"
        assert json.loads(path.read_text())["kind"] == "Metadata"
