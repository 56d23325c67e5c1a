"""The sources of a plan's objects: files alone, or a live management cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.extension_config import ExtensionConfig
from kapy.api.names import Label
from kapy.apps.plan.applying import apply, without_bookkeeping
from kapy.apps.plan.changes import RequestedChange, add_namespaces
from kapy.apps.plan.manner import ApplyOptions
from kapy.apps.plan.problems import template_refs
from kapy.apps.plan.sandbox import FIELD_MANAGER, Sandbox
from kapy.apps.plan.snapshot import Name
from kapy.client.client import Client
from kapy.client.kinds import Kinds, UnknownKind
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Forbidden, NotFound
from kapy.kube.names import CRDS, GroupKind, Resource, split_api_version

CONTRACT_LABEL_PREFIX: Final = "cluster.x-k8s.io/v1beta"
"""How the labels of CRDs begin whose objects belong to Cluster API."""
PROVIDER_LABEL: Final = "cluster.x-k8s.io/provider"


@dataclass(frozen=True, slots=True)
class FileSource:
    """A `PlanSource` with the objects of files: none, or those of a whole management cluster
    (`kubectl get -o yaml`).
    """

    documents: Sequence[Document] = ()

    async def fill(self, into: Sandbox, requested: Sequence[RequestedChange]) -> None:  # noqa: ARG002
        """Store the objects of the files in the sandbox. Raises UnknownSandboxKind."""
        definitions = [document for document in self.documents if document["kind"] == CRDS.kind]
        others = [document for document in self.documents if document["kind"] != CRDS.kind]
        await into.define(definitions)
        await add_namespaces(into, others)
        await into.store(others)

    async def extensions(self) -> Sequence[Document]:
        """Return the ExtensionConfigs among the files."""
        return [
            document
            for document in self.documents
            if document["kind"] == ExtensionConfig.RESOURCE.kind
        ]

    async def admission_errors(
        self,
        requested: Sequence[RequestedChange],  # noqa: ARG002
        following: Iterable[Document],  # noqa: ARG002
    ) -> Mapping[Name, str]:
        """Return no errors: without a server nothing is refused."""
        return {}


@dataclass(frozen=True, slots=True)
class ClusterSource:
    """A live management cluster. Only objects that the requested changes may affect are read."""

    client: Client

    async def fill(self, into: Sandbox, requested: Sequence[RequestedChange]) -> None:
        """Read the objects; unreadable kinds count as empty. Raises KapyError."""
        there = (await self.client.list(CRDS)).items
        crds = [item for item in there if _is_own_crd(item)]
        await into.define([*crds, *(item for item in there if _is_changed_crd(item, requested))])
        result: dict[tuple[str, Key], Document] = {}
        for document in [item async for item in self._relevant_objects(crds, requested)]:
            result[document["kind"], Key.of(document)] = document
        for document in [obj async for obj in self._changed_objects(requested)]:
            result.setdefault((document["kind"], Key.of(document)), document)
        await add_namespaces(into, result.values())
        await into.store(result.values())

    async def extensions(self) -> Sequence[Document]:
        """Return the ExtensionConfigs of the management cluster, none if they cannot be read."""
        return await self._list(ExtensionConfig.RESOURCE, "")

    async def admission_errors(
        self, requested: Sequence[RequestedChange], following: Iterable[Document]
    ) -> Mapping[Name, str]:
        """Return the result of a dry run of each object, webhooks included. Raises Unreachable."""
        kinds, result = Kinds(self.client), dict[Name, str]()

        async def ask(document: Document, options: ApplyOptions | None = None) -> None:
            try:
                resource = await kinds.of(document)
                if options is not None:
                    await apply(self.client, resource, document, options, dry_run=True)
                    return
                intent = without_bookkeeping(document)
                await self.client.apply(resource, intent, field_manager=FIELD_MANAGER, dry_run=True)
            except (UnknownKind, NotFound):
                return  # the change itself contains its kind or namespace
            except ApiError as error:
                result[_name(document)] = f"would be refused: {error}"

        errors = set[Name]()
        for change in requested:
            if not change.deletes:
                errors.add(_name(change.document))
                await ask(change.document, change.options)
        for document in following:
            if _name(document) not in errors:
                await ask(document)
        return result

    async def _relevant_objects(
        self, crds: Sequence[Document], requested: Sequence[RequestedChange]
    ) -> AsyncIterator[Document]:
        clusters = (await self.client.list(Cluster.RESOURCE)).items
        classes = (await self.client.list(ClusterClass.RESOURCE)).items
        meant = set(_affected_clusters(requested, clusters, classes))
        namespaces = {key.namespace for key in meant} | {
            change.document["metadata"].get("namespace", "") for change in requested
        }
        resources = list(_storage_resources(crds))
        for cluster in clusters:
            if Key.of(cluster) in meant:
                yield cluster
        for cluster_class in classes:
            yield cluster_class
            namespaces.add(cluster_class["metadata"]["namespace"])
        for resource in resources:
            if resource in (Cluster.RESOURCE, ClusterClass.RESOURCE):
                continue
            for namespace in sorted(namespaces - {""}):
                for document in await self._list(resource, namespace):
                    if _is_affected(document, meant):
                        yield document

    async def _changed_objects(
        self, requested: Sequence[RequestedChange]
    ) -> AsyncIterator[Document]:
        """The requested objects themselves, of whatever kind they are."""
        kinds = Kinds(self.client)
        for change in requested:
            try:
                resource, key = await kinds.of(change.document), Key.of(change.document)
                namespace = key.namespace if resource.namespaced else ""
                yield await self.client.get(resource, Key(namespace, key.name))
            except (UnknownKind, Forbidden, NotFound):
                continue

    async def _list(self, resource: Resource, namespace: str) -> Sequence[Document]:
        try:
            return (await self.client.list(resource, namespace)).items
        except (Forbidden, NotFound):
            return ()


def _affected_clusters(
    requested: Sequence[RequestedChange], clusters: Iterable[Document], classes: Iterable[Document]
) -> Iterator[Key]:
    """The Clusters that the requested changes can affect: changed Clusters, Clusters of changed
    classes or templates, and Clusters whose objects are changed."""
    names = {
        (change.document["kind"], change.document["metadata"].get("namespace", "default"),
         change.document["metadata"]["name"])
        for change in requested
    }  # fmt: skip
    labelled = {
        Key(
            change.document["metadata"].get("namespace", "default"),
            (change.document["metadata"].get("labels") or {}).get(Label.CLUSTER_NAME)
            or (change.document.get("spec") or {}).get("clusterName", ""),
        )
        for change in requested
    }
    changed = {
        Key.of(cluster_class)
        for cluster_class in classes
        if _name_parts(cluster_class) in names or _refers_to(cluster_class, names)
    } | {Key(namespace, name) for kind, namespace, name in names if kind == "ClusterClass"}
    for cluster in clusters:
        key = Key.of(cluster)
        ref = (cluster["spec"].get("topology") or {}).get("classRef") or {}
        of_class = Key(ref.get("namespace") or key.namespace, ref.get("name", ""))
        if _name_parts(cluster) in names or key in labelled or of_class in changed:
            yield key


def _name(document: Document) -> Name:
    group, _ = split_api_version(document["apiVersion"])
    return Name(GroupKind(group, document["kind"]), Key.of(document))


def _name_parts(document: Document) -> tuple[str, str, str]:
    key = Key.of(document)
    return document["kind"], key.namespace, key.name


def _refers_to(cluster_class: Document, names: set[tuple[str, str, str]]) -> bool:
    namespace = cluster_class["metadata"]["namespace"]
    return any(
        (ref.get("kind", ""), namespace, ref.get("name", "")) in names
        for ref in template_refs(cluster_class["spec"])
    )


def _is_affected(document: Document, clusters: set[Key]) -> bool:
    """Return whether an object belongs to an affected Cluster, or to none (templates of
    classes).
    """
    labels = document["metadata"].get("labels") or {}
    name = labels.get(Label.CLUSTER_NAME)
    return name is None or Key(document["metadata"].get("namespace", ""), name) in clusters


def _is_own_crd(crd: Document) -> bool:
    labels = crd["metadata"].get("labels") or {}
    return PROVIDER_LABEL in labels or any(
        name.startswith(CONTRACT_LABEL_PREFIX) for name in labels
    )


def _is_changed_crd(crd: Document, requested: Sequence[RequestedChange]) -> bool:
    kinds = {
        (split_api_version(change.document["apiVersion"])[0], change.document["kind"])
        for change in requested
    }
    return (crd["spec"]["group"], crd["spec"]["names"]["kind"]) in kinds


def _storage_resources(crds: Iterable[Document]) -> Iterator[Resource]:
    """Each kind in its storage version."""
    for crd in crds:
        spec = crd["spec"]
        for version in spec["versions"]:
            if version.get("storage") and version.get("served"):
                names = spec["names"]
                yield Resource(
                    spec["group"],
                    version["name"],
                    names["plural"],
                    names["kind"],
                    namespaced=spec["scope"] == "Namespaced",
                )
