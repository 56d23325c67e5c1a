"""Adds the ClusterClasses that the Clusters of a template need.

Upstream: `cmd/clusterctl/client/clusterclass.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kapy.clusterctl.envsubst import Values
from kapy.clusterctl.errors import RepositoryError, TemplateError
from kapy.clusterctl.provider import cluster_class, text_of
from kapy.clusterctl.repository.releases import Repository
from kapy.clusterctl.templates import Template, merge, template_of
from kapy.clusterctl.templates.cluster_shapes import SPECIFICATIONS, shape_errors
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import CRDS, Resource, split_api_version
from kapy.kube.plural import plural

if TYPE_CHECKING:
    from kapy.client.client import Client

_GROUP: Final = "cluster.x-k8s.io"
_CLASSES: Final = Resource(_GROUP, "v1beta2", "clusterclasses", "ClusterClass")


def class_keys(documents: Iterable[Document]) -> Iterator[Key]:
    """The ClusterClasses of the Clusters among some objects.

    Raises TemplateError for a Cluster with fields of a wrong type.
    """
    for document in documents:
        group, _, version = str(document.get("apiVersion", "")).partition("/")
        if (group, document.get("kind")) == (_GROUP, "Cluster") and version in SPECIFICATIONS:
            _check(document, version)
            if topology := (document.get("spec") or {}).get("topology"):
                yield _class_of(topology, document, version)


def _check(document: Document, version: str) -> None:
    """Raises TemplateError if fields of a Cluster have a wrong type."""
    if wrong := list(shape_errors(document, version)):
        name = (document.get("metadata") or {}).get("name", "")
        raise TemplateError(
            f"failed to convert object to Cluster: {name}: {'; '.join(wrong)}; is the value of a "
            "variable not what the template expects?"
        )


def _class_of(topology: Document, document: Document, version: str) -> Key:
    reference = topology.get("classRef") or {}
    name, namespace = reference.get("name"), reference.get("namespace")
    if version == "v1beta1":
        name, namespace = topology.get("class"), topology.get("classNamespace")
    return Key(namespace or document["metadata"].get("namespace", ""), name or "")


@dataclass(frozen=True)
class Release:
    """A version of a provider. label: the provider's name in errors."""

    repository: Repository
    version: str
    label: str


async def with_classes(
    template: Template, release: Release, values: Values, reached: Callable[[], Client | None]
) -> Template:
    """Return a template preceded by the ClusterClasses that its Clusters need, from the same
    release.

    reached: the management cluster, or None; classes that exist there are left out. Raises
    TemplateError.
    """
    keys = list(class_keys(template.objects))
    if not keys:
        return template
    client = await _initialized_client(reached())
    classes = []
    for key in keys:
        if client is not None and await _exists(client, _CLASSES, key):
            continue
        results = await _definition(key, release, values)
        if client is not None:
            await _refuse_duplicates(client, results)
        classes.append(results)
    return merge(*classes, template)


async def _definition(key: Key, release: Release, values: Values) -> Template:
    name = cluster_class(key.name)
    try:
        text = await text_of(release.repository, release.version, name, release.label)
    except RepositoryError as error:
        raise TemplateError(
            f'failed to get the cluster class template for "{key}": {error}'
        ) from error
    return template_of(text, values, key.namespace, name)


async def _initialized_client(client: Client | None) -> Client | None:
    """Return the management cluster, if Cluster API is installed there."""
    if client is None:
        return None
    try:
        await client.get(CRDS, Key("", f"clusters.{_GROUP}"))
    except NotFound:
        return None
    except KapyError as error:
        raise TemplateError(
            f"failed to check if the cluster is initialized: {error}; to do without a management "
            "cluster, let KUBECONFIG name a file that is not there"
        ) from error
    return client


async def _refuse_duplicates(client: Client, template: Template) -> None:
    """Raises TemplateError if an object of a class exists already, since it may differ."""
    for document in template.objects:
        api_version, kind = str(document.get("apiVersion", "")), str(document.get("kind", ""))
        group, version = split_api_version(api_version)
        key = Key.of(document)
        if await _exists(client, Resource(group, version, plural(kind.lower()), kind), key):
            raise TemplateError(
                f"{key}({api_version}, Kind={kind}) already exists in the cluster, but the "
                "ClusterClass that it belongs to does not; apply the class's file, or delete it"
            )


async def _exists(client: Client, resource: Resource, key: Key) -> bool:
    try:
        await client.get(resource, key)
    except NotFound:
        return False
    return True
