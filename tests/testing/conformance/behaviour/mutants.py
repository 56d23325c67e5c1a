"""Providers that are wrong in one way each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from kapy.api.machine import Machine
from kapy.apiserver.admission.plugin import Review
from kapy.contract.fields import Version
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Forbidden, NotFound
from kapy.kube.names import Resource
from kapy.sdk import DONE, Result, Runtime, requeue
from kapy.testing.conformance.behaviour.lifecycle import EVENTS
from kapy.testing.conformance.in_process import InProcess
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest
from tests.testing.conformance.behaviour.plain import (
    FINALIZER,
    RESOURCES,
    TEMPLATES,
    Plain,
    status,
)

MACHINE: Final = "infra-machine"


CLUSTER: Final = "infra-cluster"


POOL: Final = "infra-machinepool"


RBAC: Final = "rbac.authorization.k8s.io"


PERIOD: Final = 20
"""Seconds; shorter than what is taken for a quiet time."""


DRY_RUN: Final = "topology.cluster.x-k8s.io/dry-run"


@dataclass(frozen=True)
class Templates:
    """Admission of templates: none may be changed, but by the dry run of the topology controller.

    annotated, dry: what of that is asked for.
    """

    annotated: bool = True
    dry: bool = True
    exception: bool = True

    def handles(self, resource: Resource, subresource: str) -> bool:
        return resource.plural in {template.plural for template in TEMPLATES.values()}

    async def default(self, review: Review) -> Document:
        assert review.new is not None
        return review.new

    async def validate(self, review: Review) -> Sequence[str]:
        new, old = review.new, review.old
        if new is None or old is None or new.get("spec") == old.get("spec"):
            return ()
        annotated = DRY_RUN in (new["metadata"].get("annotations") or {})
        lets = (annotated or not self.annotated) and (review.dry_run or not self.dry)
        if not (self.exception and lets):
            raise Forbidden("templates are immutable")
        return ()


def subject(plain: type[Plain], role: str, **options: Any) -> ProviderUnderTest:
    """A provider of one kind."""

    def add(runtime: Runtime) -> None:
        plain(runtime, role)

    resource = RESOURCES[role]
    api: Document = {"apiVersion": resource.api_version, "kind": resource.kind}
    kind = Kind(role, resource, {**api, "spec": {"size": 3}}, template=TEMPLATES[role])
    return ProviderUnderTest("plain", (kind,), InProcess(add), admission=(Templates(),), **options)


def old(provider: ProviderUnderTest) -> ProviderUnderTest:
    """By the contract v1beta1."""
    kinds = tuple(replace(kind, contract=Version.V1BETA1) for kind in provider.kinds)
    return replace(provider, kinds=kinds)


RIGHTS: Final = "system:serviceaccount:default:plain"


def limited(provider: ProviderUnderTest, *denied: str) -> ProviderUnderTest:
    """With rights of its own. denied: resources that it may do nothing with."""
    everything = ["events", "configmaps", "clusters", "machines", "machinepools"]
    everything += [resource.plural for resource in RESOURCES.values()]
    everything += [f"{text}/status" for text in everything] + [
        f"{text}/finalizers" for text in everything
    ]
    resources = [text for text in everything if text not in denied]
    role = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "plain"},
        "rules": [{"apiGroups": ["*"], "resources": resources, "verbs": ["*"]}],
    }
    account = {"kind": "ServiceAccount", "name": "plain", "namespace": "default"}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "plain"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "plain",
        },
        "subjects": [account],
    }
    return replace(provider, definitions=(role, binding), user=RIGHTS)


class Old(Plain):
    flag = ("ready",)


class Blocking(Plain):
    """Its owner references block."""

    def references(self, document: Document) -> list[Document]:
        return [
            {**reference, "blockOwnerDeletion": True} for reference in super().references(document)
        ]


class OfOthers(Plain):
    """The endpoint is made by others."""

    def endpoint(self) -> Document:
        return {}

    def has_endpoint(self, cluster: Document | None) -> bool:
        return bool(((cluster or {}).get("spec") or {}).get("controlPlaneEndpoint"))


class Deaf(Plain):
    async def reconcile(self, key: Key) -> Result:
        return DONE


class Ownerless(Plain):
    def has_owner(self, owner: Document | None, cluster: Document | None) -> bool:
        return True

    def ready(self, owner: Document | None, cluster: Document | None) -> bool:
        return owner is not None and cluster is not None and super().ready(owner, cluster)


class Hasty(Plain):
    """Makes first, holds later."""

    async def hold(self, document: Document) -> Document:
        return document

    async def done(self, document: Document) -> Result:
        await super().hold(document)
        return DONE


class Forgetful(Plain):
    """Sets the finalizer only on what is new."""

    async def hold(self, document: Document) -> Document:
        return document if status(document).get("conditions") else await super().hold(document)


class Restless(Plain):
    async def done(self, document: Document) -> Result:
        minute = int(self.runtime.clock().timestamp() // PERIOD)
        await self.patch(document, {"metadata": {"annotations": {"looked": str(minute)}}})
        return requeue(after=timedelta(seconds=PERIOD), because="it is restless")


class Talkative(Plain):
    async def done(self, document: Document) -> Result:
        for number in range(EVENTS + 1):
            self.runtime.events.normal(document, f"Looked{number}", "at it")
        return requeue(after=timedelta(seconds=PERIOD), because="it is talkative")


class NeverDone(Plain):
    async def tell_done(self, document: Document) -> Document:
        return document


class TakesBack(Plain):
    async def tell_paused(self, document: Document, wanted: str) -> None:
        if wanted == "True" and status(document).get(self.flag[0]):
            await self.patch(document, {"status": {self.flag[0]: None}}, "status")
        await super().tell_paused(document, wanted)


class Unnamed(Plain):
    """Says that a machine is there, and then which."""

    async def make(
        self, document: Document, owner: Document | None, cluster: Document | None
    ) -> Document:
        if not document["spec"].get("providerID"):
            await self.tell_done(document)
        return await super().make(document, owner, cluster)


class Clinging(Plain):
    async def let_go(
        self, document: Document, owner: Document | None, cluster: Document | None
    ) -> None:
        return


class ClingsUntilReady(Plain):
    async def let_go(
        self, document: Document, owner: Document | None, cluster: Document | None
    ) -> None:
        if owner is not None and self.ready(owner, cluster):
            await super().let_go(document, owner, cluster)


class ClingsWithoutOwner(Plain):
    async def let_go(
        self, document: Document, owner: Document | None, cluster: Document | None
    ) -> None:
        if owner is not None:
            await super().let_go(document, owner, cluster)


class Untidy(Plain):
    """Leaves what it made, which is its owner's."""

    def references(self, document: Document) -> list[Document]:
        return [dict(reference) for reference in document["metadata"]["ownerReferences"]]

    async def let_go(
        self, document: Document, owner: Document | None, cluster: Document | None
    ) -> None:
        if FINALIZER in (document["metadata"].get("finalizers") or ()):
            await self.patch(document, {"metadata": {"finalizers": None}})


class Stubborn(Old):
    def failed(self, document: Document) -> bool:
        return False


class HeldByFailure(Old):
    def failed(self, document: Document) -> bool:
        return bool(status(document).get("failureReason"))


class IgnoresAnnotation(Plain):
    def paused_itself(self, document: Document) -> bool:
        return False


class DeletesPaused(Plain):
    def paused_above(self, cluster: Document | None) -> bool:
        return False

    async def tell_paused(self, document: Document, wanted: str) -> None:
        labels = document["metadata"].get("labels") or {}
        name = labels.get("cluster.x-k8s.io/cluster-name", "")
        cluster = self.clusters.get(Key(document["metadata"]["namespace"], name))
        if "deletionTimestamp" not in document["metadata"]:
            await super().tell_paused(
                document, str(wanted == "True" or Plain.paused_above(self, cluster))
            )


class TellsNoPause(Plain):
    async def tell_paused(self, document: Document, wanted: str) -> None:
        return


class Unfiltered(Plain):
    def serve(self) -> None:
        self.runtime.add(self.controller)


class SameForAll(Plain):
    def provider_id(self, document: Document) -> str:
        return "plain://one"

    def ids(self, document: Document, count: int) -> list[str]:
        return ["plain://one"] * count


class Renaming(Plain):
    def provider_id(self, document: Document) -> str:
        labels = document["metadata"].get("labels") or {}
        return f"{super().provider_id(document)}/{labels.get('conformance', '')}"


class Elsewhere(Plain):
    def domain(self, wanted: str) -> str:
        return f"{wanted}-not" if wanted else ""


class OddAddress(Plain):
    address_type = "Internal"


class BeforeInfrastructure(Plain):
    def infrastructure(self, cluster: Document | None) -> bool:
        return True


class BeforeData(Plain):
    def has_data(self, owner: Document | None) -> bool:
        return True


class BeforeEndpoint(OfOthers):
    def has_endpoint(self, cluster: Document | None) -> bool:
        return True


class Meddling(Plain):
    def managed(self, document: Document) -> bool:
        return False


class Orphaning(Plain):
    def references(self, document: Document) -> list[Document]:
        return []


class ByUid(Plain):
    """Names an instance by what is another one after a move."""

    def provider_id(self, document: Document) -> str:
        return f"plain://{document['metadata']['uid']}"


class OnceOnly(Plain):
    """Says that all is there only when it was made just now."""

    async def make(
        self, document: Document, owner: Document | None, cluster: Document | None
    ) -> Document:
        if "made" in (document["metadata"].get("annotations") or {}):
            return document
        await self.patch(document, {"metadata": {"annotations": {"made": ""}}})
        document = await super().make(document, owner, cluster)
        return await super().tell_done(document)

    async def tell_done(self, document: Document) -> Document:
        return document


class Stuck(Plain):
    """Does not follow the number of machines."""

    def ids(self, document: Document, count: int) -> list[str]:
        return document["spec"].get("providerIDList") or super().ids(document, count)


class Single(Plain):
    """A pool whose machines have objects."""

    async def make(
        self, document: Document, owner: Document | None, cluster: Document | None
    ) -> Document:
        if self.role != POOL:
            return await super().make(document, owner, cluster)
        key, count = Key.of(document), (owner or {})["spec"].get("replicas", 1)
        for number in range(count):
            await self.create_machine(document, f"{key.name}-{number}")
        await self.drop_machines(document, count)
        await self.patch(
            document, {"status": {"infrastructureMachineKind": "PlainMachine"}}, "status"
        )
        return await super().make(document, owner, cluster)

    async def create_machine(self, value: Document, name: str) -> None:
        labels = value["metadata"]["labels"]
        machine = RESOURCES[MACHINE]
        document: Document = {
            "apiVersion": machine.api_version,
            "kind": machine.kind,
            "metadata": {
                "name": name,
                "namespace": value["metadata"]["namespace"],
                "labels": {**labels, "cluster.x-k8s.io/pool-name": value["metadata"]["name"]},
                "ownerReferences": self.references(value),
            },
            "spec": {},
        }
        with suppress(AlreadyExists):
            await self.client.create(machine, document)

    async def drop_machines(self, document: Document, count: int) -> None:
        """By way of their Machines, as core wants it."""
        key = Key.of(document)
        for number in range(count, 5):
            with suppress(NotFound):
                name = Key(key.namespace, f"{key.name}-{number}")
                await self.client.delete(Machine.RESOURCE, name)


class Hoarding(Single):
    async def drop_machines(self, document: Document, count: int) -> None:
        return


def pool_with_machines(plain: type[Plain]) -> Callable[[str], ProviderUnderTest]:
    def add(runtime: Runtime) -> None:
        Plain(runtime, MACHINE)
        plain(runtime, POOL)

    def make(role: str) -> ProviderUnderTest:
        pool, machine = subject(Plain, role), subject(Plain, MACHINE)
        return replace(pool, kinds=(*pool.kinds, *machine.kinds), launcher=InProcess(add))

    return make


def everywhere(role: str) -> ProviderUnderTest:
    """Looks at all namespaces, whatever it is told."""

    def add(runtime: Runtime) -> dict[str, Callable[[], Awaitable[None]]]:
        options = replace(runtime.options, namespace="")
        other = Runtime.on(runtime.client.transport, clock=runtime.clock, options=options)
        Plain(other, role)
        return {"other": other.run}

    return replace(subject(Plain, role), launcher=InProcess(add))
