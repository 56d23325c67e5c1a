"""The rules of the clusterctl contract's section on move, one test each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.inventory import DEFINITION, PROVIDERS
from kapy.clusterctl.move.graph import Ref
from kapy.clusterctl.move.kinds import MOVE, MOVE_HIERARCHY
from kapy.clusterctl.move.preflight import rehearse
from kapy.clusterctl.move.removal import DELETE_FOR_MOVE
from kapy.kube import Document
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import CRDS, Resource
from tests.clusterctl.move import fleet
from tests.clusterctl.move.fleet import obj, secret
from tests.clusterctl.move.management_clusters import (
    SIMPLE,
    Heard,
    content,
    ensure_namespace,
    everything,
    load,
    management_cluster,
    move,
    simple_crd,
)

INFRA = "infrastructure.cluster.x-k8s.io"
GADGETS = Resource(INFRA, "v1beta2", "gadgets", "Gadget")
GLOBAL_GADGETS = Resource(INFRA, "v1beta2", "bigs", "Big", namespaced=False)


def gadget(name: str, *owners: Document, **more: Any) -> Document:
    return obj(GADGETS.api_version, "Gadget", name, *owners, **more)


def big(name: str, **more: Any) -> Document:
    return obj(GLOBAL_GADGETS.api_version, "Big", name, namespace="", **more)


@pytest_asyncio.fixture
async def sides() -> AsyncIterator[tuple[Client, Client]]:
    """A source and a target that know gadgets, whose CRD clusterctl has labelled."""
    own = [*SIMPLE, simple_crd(GADGETS), simple_crd(GLOBAL_GADGETS)]
    async with (
        management_cluster(definitions=own) as source,
        management_cluster(definitions=own) as target,
    ):
        for side in (source, target):
            await ensure_namespace(side, "fleet")
        yield source, target


async def put(client: Client, *documents: Document) -> None:
    """Create objects of any kind; owner references are to what was put before."""
    await load(client, documents, more=[GADGETS, GLOBAL_GADGETS])


async def names(client: Client, resource: Resource) -> set[str]:
    return {document["metadata"]["name"] for document in (await client.list(resource)).items}


Sides = tuple[Client, Client]


async def moved(sides: Sides, folder: Path) -> None:
    await move(*sides, folder / "journal.jsonl")


class TestWhatIsDiscovered:
    async def test_kinds_with_the_label_of_clusterctl_are_moved(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        unlabelled = simple_crd(Resource(INFRA, "v1", "strangers", "Stranger"))
        unlabelled["metadata"]["labels"] = {}
        for side in sides:
            await side.create(CRDS, unlabelled)
        strangers = Resource(INFRA, "v1", "strangers", "Stranger")
        await sides[0].create(strangers, obj(f"{INFRA}/v1", "Stranger", "s", labels={MOVE: ""}))
        await put(sides[0], gadget("g", labels={MOVE: ""}))
        await moved(sides, tmp_path)
        assert (await names(sides[1], GADGETS), await names(sides[1], strangers)) == ({"g"}, set())

    async def test_secrets_of_infrastructure_providers_are_moved(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        await ensure_namespace(sides[0], "capd-system")
        for side in sides:
            await side.create(CRDS, DEFINITION)
            await ensure_namespace(side, "capd-system")
            await side.create(PROVIDERS, provider("v1.14.0"))
        top = big("identity", labels={MOVE_HIERARCHY: ""})
        credentials = secret("credentials", top, namespace="capd-system")
        await put(sides[0], top, credentials, secret("alone", namespace="capd-system"))
        await moved(sides, tmp_path)
        there = {ref.name for ref in await everything(sides[1]) if ref.kind == "Secret"}
        assert there == {"credentials"}

    async def test_only_the_given_namespace_is_moved(self, sides: Sides, tmp_path: Path) -> None:
        await put(sides[0], *fleet.cluster("here"), *fleet.cluster("there", namespace="other"))
        await moved(sides, tmp_path)
        assert {ref.namespace for ref in await everything(sides[1])} == {"fleet"}
        assert {ref.namespace for ref in await everything(sides[0])} == {"other"}


class TestWhatIsMoved:
    async def test_descendants_of_a_cluster_are_moved(self, sides: Sides, tmp_path: Path) -> None:
        [top, *rest] = fleet.cluster("a")
        child = gadget("child", top)
        await put(sides[0], top, *rest, child, gadget("grandchild", child), gadget("stranger"))
        await moved(sides, tmp_path)
        assert await names(sides[1], GADGETS) == {"child", "grandchild"}

    async def test_certificates_of_users_are_moved_by_name(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        purposes = ["ca", "etcd", "proxy", "sa", "kubeconfig"]
        certificates = [secret(f"a-{purpose}") for purpose in purposes]
        await put(
            sides[0],
            *(
                document
                for document in fleet.cluster("a")
                if document["metadata"]["name"] != "a-ca"
            ),
            *certificates,
            secret("a-other"),
            secret("b-ca"),
        )
        await moved(sides, tmp_path)
        there = {ref.name for ref in await everything(sides[1]) if ref.kind == "Secret"}
        assert there == {"a-0", *(f"a-{purpose}" for purpose in purposes)}

    async def test_the_resources_of_a_resource_set_are_moved(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        await put(sides[0], *fleet.cluster("a"), *fleet.resource_set())
        await moved(sides, tmp_path)
        there = {(ref.kind, ref.name) for ref in await everything(sides[1])}
        assert there >= {
            ("ClusterResourceSet", "cni"),
            ("ConfigMap", "cni"),
            ("ClusterResourceSetBinding", "a"),
        }

    async def test_labels_move_an_object_alone_or_with_its_descendants(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        alone, top = gadget("alone", labels={MOVE: ""}), gadget("top", labels={MOVE_HIERARCHY: ""})
        await put(sides[0], alone, top, gadget("of-alone", alone), gadget("of-top", top))
        await moved(sides, tmp_path)
        assert await names(sides[1], GADGETS) == {"alone", "top", "of-top"}

    @pytest.mark.parametrize(
        ("label", "there"), [(MOVE, {"top"}), (MOVE_HIERARCHY, {"top", "below"})]
    )
    async def test_labels_of_a_crd_apply_to_all_its_objects(
        self, tmp_path: Path, label: str, there: set[str]
    ) -> None:
        labelled, plain = simple_crd(GADGETS, label), simple_crd(WIDGETS)
        own = [*SIMPLE, labelled, plain]
        async with (
            management_cluster(definitions=own) as source,
            management_cluster(definitions=own) as target,
        ):
            top = gadget("top")
            below = obj(WIDGETS.api_version, "Widget", "below", top)
            await load(source, [top, below], more=[GADGETS, WIDGETS])
            await moved((source, target), tmp_path)
            assert await names(target, GADGETS) | await names(target, WIDGETS) == there


class TestWhatBecomesOfIt:
    async def test_namespaced_objects_are_created_or_updated_and_removed(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        new, old = gadget("new", labels={MOVE: ""}), gadget("known", labels={MOVE: ""})
        await put(sides[0], new, {**old, "spec": {"of": "source"}})
        await put(sides[1], {**old, "spec": {"of": "target", "more": 1}})
        await moved(sides, tmp_path)
        there = {
            document["metadata"]["name"]: document
            for document in (await sides[1].list(GADGETS)).items
        }
        assert (set(there), there["known"]["spec"]) == ({"new", "known"}, {"of": "source"})
        assert await names(sides[0], GADGETS) == set()

    async def test_global_objects_are_created_but_never_updated_nor_removed(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        new, old = big("new", labels={MOVE: ""}), big("known", labels={MOVE: ""})
        await put(sides[0], new, {**old, "spec": {"of": "source"}})
        await put(sides[1], {**old, "spec": {"of": "target"}})
        await moved(sides, tmp_path)
        there = {
            document["metadata"]["name"]: document.get("spec")
            for document in (await sides[1].list(GLOBAL_GADGETS)).items
        }
        assert there == {"new": None, "known": {"of": "target"}}
        assert await names(sides[0], GLOBAL_GADGETS) == {"new", "known"}

    async def test_descendants_of_global_objects_are_moved_like_their_owner(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        top = big("top", labels={MOVE_HIERARCHY: ""})
        await put(sides[0], top, gadget("new", top), {**gadget("known", top), "spec": {"v": 1}})
        await put(sides[1], {**gadget("known"), "spec": {"v": 2}})
        await moved(sides, tmp_path)
        there = {
            document["metadata"]["name"]: document
            for document in (await sides[1].list(GADGETS)).items
        }
        assert (set(there), there["known"]["spec"]) == ({"new", "known"}, {"v": 2})
        assert await names(sides[0], GADGETS) == {"new", "known"}

    async def test_a_dry_run_names_the_objects_left_behind_with_the_reason(
        self, sides: Sides
    ) -> None:
        await put(sides[0], *fleet.cluster("a"), gadget("stranger"))
        heard = Heard()
        await rehearse(sides[0], "fleet", heard)
        lines = [line for line in heard.lines if "stranger" in str(line)]
        assert len(lines) == 1
        assert "it does not belong to a Cluster, a ClusterClass" in str(lines[0])

    async def test_status_is_not_restored(self, sides: Sides, tmp_path: Path) -> None:
        await put(sides[0], *fleet.cluster("a"))
        await moved(sides, tmp_path)
        assert not [
            ref for ref, document in (await everything(sides[1])).items() if "status" in document
        ]

    async def test_owner_references_have_the_uids_of_the_target(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        await put(sides[0], *fleet.fleet())
        before = content(await everything(sides[0]))
        await moved(sides, tmp_path)
        after = content(await everything(sides[1]))
        assert after == {ref: before[ref] for ref in after}

    async def test_classes_that_others_need_are_copied_and_stay_unpaused(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        await put(sides[0], *fleet.classes())
        before = content(await everything(sides[0]))
        await moved(sides, tmp_path)
        source_objects, there = (
            content(await everything(sides[0])),
            content(await everything(sides[1])),
        )
        stay = {("fleet", "shared"), ("library", "foreign"), ("other", "e")}
        assert {
            (ref.namespace, ref.name.removesuffix("-0").removesuffix("-ca"))
            for ref in source_objects
        } == stay
        assert source_objects == {ref: before[ref] for ref in source_objects}
        assert {ref for ref in before if ref.namespace != "other"} == set(there)

    async def test_templates_of_a_foreign_class_are_copied_from_every_provider(
        self, tmp_path: Path
    ) -> None:
        own = [unlabelled(document, "DevMachineTemplate") for document in SIMPLE]
        async with (
            management_cluster(definitions=own) as source,
            management_cluster(definitions=own) as target,
        ):
            await put(source, *fleet.classes())
            await moved((source, target), tmp_path)
            there = {(ref.kind, ref.namespace) for ref in await everything(target)}
            assert ("DevMachineTemplate", "library") in there
            assert ("DevMachineTemplate", "fleet") not in there


class TestHowItIsDone:
    async def test_owners_are_created_first_and_dependents_deleted_first(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        a = gadget("a", labels={MOVE_HIERARCHY: ""})
        b = gadget("b", a)
        await put(sides[0], a, b, gadget("c", b))
        source, target = Noted(sides[0].transport), Noted(sides[1].transport)
        await moved((Client(source), Client(target)), tmp_path)
        created = [name for method, name in target.seen if method == "POST"]
        deleted = [name for method, name in source.seen if method == "DELETE"]
        assert (created, deleted) == (["a", "b", "c"], ["c", "b", "a"])

    async def test_clusters_and_classes_are_paused_while_something_is_created(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        await put(sides[0], *fleet.cluster_class("own"), *fleet.cluster("a", class_name="own"))
        target = Noted(sides[1].transport)
        await moved((sides[0], Client(target)), tmp_path)
        entries = {body["kind"]: body for body in target.bodies if "kind" in body}
        assert entries["Cluster"]["spec"]["paused"] is True
        assert "cluster.x-k8s.io/paused" in entries["ClusterClass"]["metadata"]["annotations"]

    async def test_a_move_annotates_objects_before_it_deletes_them(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        await put(sides[0], gadget("g", labels={MOVE: ""}, annotations={"mine": "yes"}))
        async with sides[0].watch(GADGETS, "fleet", resource_version="0") as events:
            await moved(sides, tmp_path)
            async for event in events:
                if event.type == "DELETED":
                    annotations = event.document["metadata"]["annotations"]
                    assert annotations == {"mine": "yes", DELETE_FOR_MOVE: ""}
                    break

    async def test_fields_keep_their_managers(self, sides: Sides, tmp_path: Path) -> None:
        await put(sides[0], gadget("g", labels={MOVE: ""}))
        [before] = (await sides[0].list(GADGETS)).items
        await moved(sides, tmp_path)
        [after] = (await sides[1].list(GADGETS)).items
        assert after["metadata"]["managedFields"] == before["metadata"]["managedFields"]


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("there", "said"),
        [
            (None, "provider docker not found in the target cluster"),
            ("v1.13.9", "older than in the source cluster (source: 1.14.0, target: 1.13.9)"),
        ],
    )
    async def test_a_target_without_the_providers_is_refused(
        self, sides: Sides, tmp_path: Path, there: str | None, said: str
    ) -> None:
        for side, version in zip(sides, ("v1.14.0", there), strict=True):
            await side.create(CRDS, DEFINITION)
            await ensure_namespace(side, "capd-system")
            if version is not None:
                await side.create(PROVIDERS, provider(version))
        with pytest.raises(MoveError, match="failed to check providers") as refused:
            await moved(sides, tmp_path)
        assert said in str(refused.value)

    async def test_a_target_without_a_kind_is_refused(self, tmp_path: Path) -> None:
        async with (
            management_cluster(definitions=[*SIMPLE, simple_crd(GADGETS)]) as source,
            management_cluster() as target,
        ):
            await put(source, gadget("g", labels={MOVE: ""}))
            await unchanged((source, target), tmp_path, "does not serve Gadget")

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"spec": {"paused": True}}, "the following Clusters are paused: fleet/a"),
            (
                {"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}},
                "the following Clusters are paused: fleet/a",
            ),
            ({"metadata": {"deletionTimestamp": "now"}}, "Cluster fleet/a is being deleted"),
        ],
    )
    async def test_paused_or_deleted_clusters_are_refused(
        self, sides: Sides, tmp_path: Path, change: Document, said: str
    ) -> None:
        await put(sides[0], *fleet.cluster("a"))
        key = Ref("cluster.x-k8s.io", "Cluster", "fleet", "a").key
        if "deletionTimestamp" in change.get("metadata", {}):
            await sides[0].delete(CLUSTERS, key)
        else:
            await sides[0].patch(CLUSTERS, key, change)
        await unchanged(sides, tmp_path, said)

    @pytest.mark.parametrize(
        ("resource", "name", "status", "said"),
        [
            ("clusters", "a", {"initialization": None}, "is still provisioning the infrastructure"),
            ("clusters", "a", {"conditions": None}, "the control plane for .* is not yet init"),
            ("machines", "a-0", {"nodeRef": None}, "is still provisioning the node"),
        ],
    )
    async def test_unprovisioned_clusters_are_refused(
        self,
        sides: Sides,
        tmp_path: Path,
        resource: str,
        name: str,
        status: Document,
        said: str,
    ) -> None:
        await put(sides[0], *fleet.cluster("a"))
        of = CLUSTERS if resource == "clusters" else MACHINES
        key = Ref("", "", "fleet", name).key
        await sides[0].patch(of, key, {"status": status}, subresource="status")
        await unchanged(sides, tmp_path, said)


CLUSTERS = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")
MACHINES = Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine")
WIDGETS = Resource(INFRA, "v1beta2", "widgets", "Widget")


async def unchanged(sides: Sides, folder: Path, message: str) -> None:
    """The move is refused, and nothing was changed on either side."""
    before = [await everything(side) for side in sides]
    with pytest.raises(MoveError, match=message):
        await moved(sides, folder)
    assert [await everything(side) for side in sides] == before


def unlabelled(crd: Document, kind: str) -> Document:
    if crd["spec"]["names"]["kind"] != kind:
        return crd
    return {**crd, "metadata": {**crd["metadata"], "labels": {}}}


def provider(version: str) -> Document:
    return {
        **obj(PROVIDERS.api_version, "Provider", "infrastructure-docker", namespace="capd-system"),
        "providerName": "docker",
        "type": "InfrastructureProvider",
        "version": version,
    }


class Noted(Interceptor):
    """Remembers what gadgets were written, and what was created."""

    __slots__ = ("bodies", "seen")

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.seen: list[tuple[str, str]] = []
        self.bodies: list[Document] = []

    async def __call__(self, request: Request) -> Reply:
        reply = await self.transport(request)
        body = request.body if isinstance(request.body, dict) else {}
        if request.method == "POST":
            self.bodies.append(body)
        if "gadgets" in request.path and request.method in ("POST", "DELETE"):
            name = body.get("metadata", {}).get("name") or request.path.rpartition("/")[2]
            self.seen.append((request.method, name))
        return reply
