"""Two management clusters without controllers, in process, and objects to move between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kapy._aio.clock import loop_clock
from kapy.api.crds import crds
from kapy.api.features import DEFAULT_GATES
from kapy.api.kinds import KINDS as KINDS_OF_KAPY
from kapy.apiserver.server import Server
from kapy.apps.admission import AdmissionRules
from kapy.client.client import Client
from kapy.clusterctl.components import CLUSTERCTL_LABEL
from kapy.clusterctl.move.content import content_to_create
from kapy.clusterctl.move.graph import Graph, Node, Ref, ref_of, sequence
from kapy.clusterctl.move.journal import Journal, Mode, MoveStarted, Place
from kapy.clusterctl.move.kinds import MOVE_HIERARCHY, MovedKind, MovedKinds, kinds_of
from kapy.clusterctl.move.mover import Mover
from kapy.clusterctl.move.preflight import start_move
from kapy.kube import Document
from kapy.kube.errors import AlreadyExists, NotFound
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS, NAMESPACES, Resource
from kapy.testing.frozen import Frozen
from tests.clusterctl.move import fleet

NAMESPACE = "fleet"


def simple_crd(resource: Resource, *labels: str) -> Document:
    """A CRD, as clusterctl installs it, whose objects keep whatever they are given."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
        "subresources": {"status": {}},
    }
    names = {"kind": resource.kind, "plural": resource.plural, "singular": resource.kind.lower()}
    labelled = dict.fromkeys((CLUSTERCTL_LABEL, *labels), "")
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": resource.group_resource, "labels": labelled},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }


def labelled(crd: Document) -> Document:
    """A CRD as clusterctl installs it."""
    labels = {**crd["metadata"].get("labels", {}), CLUSTERCTL_LABEL: ""}
    return {**crd, "metadata": {**crd["metadata"], "labels": labels}}


_INFRA = "infrastructure.cluster.x-k8s.io"
IDENTITIES = simple_crd(
    Resource(_INFRA, "v1beta2", "fakeidentities", "FakeIdentity", namespaced=False), MOVE_HIERARCHY
)
SIMPLE = [
    *(simple_crd(kind.type_of().RESOURCE) for kind in KINDS_OF_KAPY if kind.name in fleet.KINDS),
    IDENTITIES,
]
KINDS: MovedKinds = kinds_of([*map(labelled, crds()), IDENTITIES])


@asynccontextmanager
async def management_cluster(
    *, real: bool = False, definitions: Sequence[Document] = SIMPLE
) -> AsyncIterator[Client]:
    """An empty management cluster, whose documents nobody may change.

    real: with our own CRDs and webhooks, which take their time; else all objects are welcome.
    """
    rules = AdmissionRules(replace(DEFAULT_GATES, cluster_topology=True))
    server = Server.open(None, clock=loop_clock(), admission=(rules,) if real else ())
    rules.enable_reads(Client(server.transport(ADMIN)))
    client = Client(Frozen(server.transport(ADMIN)), field_manager="test")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await asyncio.sleep(0)
        failure: BaseException | None = None
        try:
            for crd in [*map(labelled, crds()), IDENTITIES] if real else definitions:
                await client.create(CRDS, crd)
            yield client
        except Exception as error:
            failure = error
        running.cancel()
    server.close()
    if failure is not None:
        raise failure


@asynccontextmanager
async def two_clusters(
    *, real: bool = False, definitions: Sequence[Document] = SIMPLE
) -> AsyncIterator[tuple[Client, Client]]:
    """A source and a target."""
    async with (
        management_cluster(real=real, definitions=definitions) as source,
        management_cluster(real=real, definitions=definitions) as target,
    ):
        yield source, target


async def load(
    client: Client, documents: Iterable[Document], more: Iterable[Resource] = ()
) -> None:
    """Create objects, owners first, with owner references to what they have become here.

    more: kinds beside those of Cluster API.
    """
    kinds = {**KINDS, **{resource.group_kind: MovedKind(resource) for resource in more}}
    graph = Graph(kinds)
    for document in documents:
        graph.add(document)
    uids: dict[Node, str] = {}
    for node in (node for group in sequence(graph.existing_nodes()) for node in group):
        assert node.document is not None
        await ensure_namespace(client, node.ref.namespace)
        kind = kinds[node.ref.group_kind]
        owners = [
            {**owner_reference, "uid": uids[owner]}
            for owner, owner_reference in node.owners.items()
        ]
        result = await client.create(kind.resource, content_to_create(node.document, owners))
        uids[node] = result["metadata"]["uid"]
        if "status" in node.document and kind.status:
            patch = {"status": node.document["status"]}
            await client.patch(kind.resource, node.ref.key, patch, subresource="status")


async def ensure_namespace(client: Client, name: str) -> None:
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        if name:
            await client.create(NAMESPACES, document)
    except AlreadyExists:
        pass


async def everything(client: Client) -> dict[Ref, Document]:
    """All objects of the considered kinds."""
    results: dict[Ref, Document] = {}
    for kind in KINDS.values():
        try:
            listed = (await client.list(kind.resource)).items
        except NotFound:
            continue
        results |= {ref_of(document): document for document in listed}
    return {ref: document for ref, document in results.items() if ref.name != "kube-root-ca.crt"}


def content(objects: dict[Ref, Document]) -> dict[Ref, Document]:
    """The content of objects that a move preserves, without the fields that servers set."""
    names = {obj["metadata"]["uid"]: ref for ref, obj in objects.items()}
    described = {}
    for ref, document in objects.items():
        metadata = document["metadata"]
        owners = [
            {**reference, "uid": str(names.get(reference["uid"], "gone"))}
            for reference in metadata.get("ownerReferences", [])
        ]
        described[ref] = {
            key: value
            for key, value in content_to_create(document, owners).items()
            if key != "status" or not KINDS[ref.group_kind].status
        }
    return described


@dataclass
class Heard:
    """A recorder of messages, by line."""

    lines: list[tuple[int, str, Document]] = field(default_factory=list)

    def __call__(self, level: int, message: str, /, **values: Any) -> None:
        self.lines.append((level, message, values))

    def about(self, message: str) -> list[Document]:
        return [values for _, text, values in self.lines if text == message]


def begun(namespace: str = NAMESPACE) -> MoveStarted:
    return MoveStarted("0123abcd", Mode.CLUSTERS, namespace, Place(), Place())


async def move(source: Client, target: Client, journal: Path, tell: Any = None) -> None:
    """A whole move, as the command does it."""
    tell = tell or Heard()
    opened = await start_move(source, target, begun(), journal, tell)
    try:
        await Mover(source, target, opened, tell).run()
    finally:
        opened.close()


async def ended(source: Client, target: Client, journal: Path, *, resume: bool) -> None:
    """Resume a move, as `--resume` does, or roll it back, as `--rollback` does."""
    opened = Journal.open(journal)
    try:
        mover = Mover(source, target, opened, Heard())
        await (mover.run() if resume else mover.roll_back())
    finally:
        opened.close()
