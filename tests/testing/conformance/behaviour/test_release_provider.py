"""The tested kinds of a release, with examples from its templates or from the user."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from kapy.api.machine import Machine
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS
from kapy.sdk import DONE, Controller, Result, Runtime, add_ipam, requeue
from kapy.sdk.controllers import own_key
from kapy.testing.conformance.behaviour import BEHAVIOUR
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.files import File
from kapy.testing.conformance.findings import State
from kapy.testing.conformance.in_process import InProcess
from kapy.testing.conformance.provider_under_test import ProviderUnderTest
from kapy.testing.conformance.release import Release
from kapy.testing.conformance.release_provider import provider_of_release
from kapy.testing.conformance.run import run_checks
from kapy.testing.provider_bench import permissive
from tests.sdk.range_pool import RangePool, Ranges
from tests.testing.conformance.behaviour.clouds import ROLES, Cloud, costly
from tests.testing.conformance.behaviour.plain import GROUP, Plain
from tests.testing.conformance.behaviour.release import files

COMPONENTS: Final = "infrastructure-components.yaml"
TEMPLATE: Final = "cluster-template.yaml"


def add(runtime: Runtime) -> None:
    Plain(runtime, "infra-machine")


WAY: Final = InProcess(add)


def of(objects: dict[str, list[Document]], user_files: Iterable[File] = ()) -> ProviderUnderTest:
    texts = {name: "\n---\n".join(map(json.dumps, obj)) for name, obj in objects.items()}
    release = Release("plain", tuple(File(name, text) for name, text in texts.items()))
    return provider_of_release(release, WAY, {"SIZE": "3"}, tuple(user_files))


def test_examples_are_objects_and_contents_of_templates() -> None:
    kinds = {kind.role: kind for kind in of(files()).kinds}
    assert set(kinds) == {"infra-cluster", "infra-machine", "infra-machinepool"}
    machine = kinds["infra-machine"]
    assert machine.example["kind"] == "PlainMachine"
    assert machine.example["spec"] == {"size": "3"}
    assert machine.template is not None
    assert machine.template.kind == "PlainMachineTemplate"


def test_examples_of_the_user_go_first() -> None:
    own = {"apiVersion": f"{GROUP}/v1", "kind": "PlainMachine", "spec": {"size": 7}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}}
    user_file = File("mine.yaml", f"{json.dumps(own)}\n---\n{json.dumps(secret)}")
    provider = of(files(), [user_file])
    assert {kind.role: kind.example["spec"] for kind in provider.kinds}["infra-machine"] == {
        "size": 7
    }
    assert list(provider.extras) == [secret]


async def test_kinds_without_an_example_and_webhooks_are_not_run() -> None:
    objects = files()
    objects[TEMPLATE] = [
        document for document in objects[TEMPLATE] if document["kind"] != "PlainMachinePool"
    ]
    objects[COMPONENTS].append({"apiVersion": "v1", "kind": "ValidatingWebhookConfiguration"})
    report = await run_checks(of(objects), BEHAVIOUR, light=True)
    not_run = {item.rule.id: item.reason for item in report.with_state(State.NOT_RUN)}
    assert not_run["infra-machinepool/provider-ids"] == "there is no example of PlainMachinePool"
    assert "webhooks" in not_run["infra-machine/ssa-dry-run"]


async def test_ipam_providers_are_run_without_a_contract_label() -> None:
    def pools(runtime: Runtime) -> None:
        add_ipam(runtime, RangePool, Ranges())

    crd = permissive(RangePool.RESOURCE)
    crd["metadata"]["labels"] = {"cluster.x-k8s.io/provider": "ipam-range"}
    spec = {"first": "10.0.0.1", "last": "10.0.0.9", "prefix": 24}
    api = {"apiVersion": RangePool.RESOURCE.api_version, "kind": "RangePool"}
    pool = {**api, "metadata": {"name": "a"}, "spec": spec}
    release = Release("range", (File("ipam-components.yaml", json.dumps(crd)),))
    user_files = (File("pool.yaml", json.dumps(pool)),)
    provider = provider_of_release(release, InProcess(pools), {}, user_files)
    report = await run_checks(provider, BEHAVIOUR, light=True)
    assert {item.rule.id: item.findings for item in report.with_state(State.BROKEN)} == {}
    passed = {item.rule.id for item in report.with_state(State.PASSED)}
    assert {"ipam/watch", "ipam/unique", "ipam/release", "clusterctl/namespace-flag"} <= passed
    assert {item.rule.id for item in report.with_state(State.NOT_RUN)} == set()
    assert report.leftovers == ()


async def test_all_machines_have_the_version_that_the_user_names() -> None:
    versions = set()

    def watch(runtime: Runtime) -> None:
        add(runtime)
        machines = runtime.cache.informer(Machine.RESOURCE)
        machines.subscribe(lambda change: versions.add(change.document["spec"]["version"]))

    texts = {name: "\n---\n".join(map(json.dumps, obj)) for name, obj in files().items()}
    release = Release("plain", tuple(File(name, text) for name, text in texts.items()))
    values = {"SIZE": "3", "KUBERNETES_VERSION": "v1.36.2"}
    provider = provider_of_release(release, InProcess(watch), values)
    await run_checks(provider, BEHAVIOUR, light=True)
    assert versions == {"v1.36.2"}


async def test_a_provider_may_write_to_its_inventory_beside_a_cluster() -> None:
    def keep_inventory(runtime: Runtime) -> None:
        for role in ROLES:
            Plain(runtime, role)
        secrets = runtime.cache.informer(SECRETS)

        async def mark(key: Key) -> Result:
            secret = secrets.get(key)
            if secret is None or secret.get("type") != "inventory":
                return DONE
            patch = {"metadata": {"annotations": {"example.com/seen": str(runtime.clock())}}}
            await runtime.client.patch(SECRETS, key, patch)
            return requeue(after=timedelta(seconds=10), because="the inventory changes")

        controller = Controller("inventory", mark)
        controller.watch(secrets, own_key)
        runtime.add(controller, secrets)

    inventory = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "inventory"}}
    provider = replace(
        costly(Cloud()),
        launcher=InProcess(keep_inventory),
        extras=[inventory | {"type": "inventory"}],
    )
    rules = {"infra-cluster/externally-managed", "clusterctl/move"}
    report = await run_checks(provider, [check for check in BEHAVIOUR if check.rule in rules])
    assert rules <= {item.rule.id for item in report.with_state(State.PASSED)}


@pytest.mark.parametrize(("follows", "state"), [(True, State.PASSED), (False, State.BROKEN)])
async def test_failure_domains_are_those_that_the_cluster_reports(
    *, follows: bool, state: State
) -> None:
    names = ["north", "south"]

    class WithDomains(Plain):
        """Has machines in two places only."""

        async def tell_done(self, document: Document) -> Document:
            if self.role == "infra-cluster":
                domains = [{"name": name, "controlPlane": True} for name in names]
                await self.patch(document, {"status": {"failureDomains": domains}}, "status")
            return await super().tell_done(document)

        def ready(self, owner: Document | None, cluster: Document | None) -> bool:
            wanted = (owner or {})["spec"].get("failureDomain", "")
            return super().ready(owner, cluster) and wanted in ("", *names)

        def domain(self, wanted: str) -> str:
            return wanted if follows else names[0]

    def with_domains(runtime: Runtime) -> None:
        for role in ROLES:
            WithDomains(runtime, role)

    rule = "infra-machine/failure-domain"
    checks = [check for check in BEHAVIOUR if check.rule == rule]
    provider = replace(costly(Cloud()), launcher=InProcess(with_domains))
    report = await run_checks(provider, checks, light=True)
    assert rule in {item.rule.id for item in report.with_state(state)}


def test_a_template_with_variables_that_nobody_needs_is_left_out() -> None:
    objects = files()
    objects["cluster-template-large.yaml"] = [{"kind": "Cluster", "metadata": {"name": "${SIZES}"}}]
    assert len(of(objects).kinds) == 3
    objects["cluster-template-large.yaml"] += objects.pop(TEMPLATE)
    with pytest.raises(ConformanceError, match="add --variable SIZES="):
        of(objects)


def test_a_release_without_examples_reports_the_missing_parts() -> None:
    objects = files()
    objects[TEMPLATE] = []
    with pytest.raises(ConformanceError, match="no example of PlainCluster, PlainMachine"):
        of(objects)
    objects[COMPONENTS] = []
    with pytest.raises(ConformanceError, match="no CRD with a part"):
        of(objects)


def test_the_manager_has_the_rights_of_its_account() -> None:
    objects = files()
    spec = {"template": {"spec": {"serviceAccountName": "manager"}}}
    metadata = {"name": "manager", "namespace": "plain-system"}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    binding = {"apiVersion": "v1", "kind": "ClusterRoleBinding", "metadata": {"name": "manager"}}
    objects[COMPONENTS] += [deployment, binding]
    provider = of(objects)
    assert provider.user == "system:serviceaccount:plain-system:manager"
    assert binding in provider.definitions
    assert deployment not in provider.definitions
