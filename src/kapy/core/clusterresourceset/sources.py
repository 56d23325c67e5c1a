"""Phase: read the ConfigMaps and Secrets of a ClusterResourceSet."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kapy.api.cluster_resource_set import ResourceRef
from kapy.contract.ownership import claim, ownership_patch
from kapy.core.clusterresourceset.manifests import BadManifest, hash_of, values_of
from kapy.core.clusterresourceset.scope import Outcome, SetScope, Source
from kapy.core.clusterresourceset.status import unreadable, wrong_secret_type
from kapy.engine.cache import Informer
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.names import CONFIG_MAPS, SECRETS, Resource

SECRET_TYPE: Final = "addons.cluster.x-k8s.io/resource-set"
KINDS: Final = {"ConfigMap": CONFIG_MAPS, "Secret": SECRETS}


async def read_sources(scope: SetScope) -> Outcome | None:
    """Read the sources and make the set their owner; return the outcome that stops the reconcile,
    if any. A missing source does not stop it: its creation enqueues the set.
    """
    result, missing, failed = list[Source](), None, None
    for reference in scope.set.spec.resources:
        try:
            document = await _read(scope, reference)
            if document is None:
                name = f'{KINDS[reference.kind].plural} "{reference.name}" not found'
                missing = unreadable(name)
            elif reference.kind == "Secret" and document.get("type") != SECRET_TYPE:
                failed, missing = wrong_secret_type(reference.name), None
            else:
                result.append(await _own_source(scope, reference, document))
        except KapyError as error:
            failed, missing = unreadable(str(error), error), None
    scope.sources = result
    if failed is None or missing is None:
        return failed
    return replace(missing, retry=failed.retry)  # the last error is reported


async def _read(scope: SetScope, reference: ResourceRef) -> Document | None:
    resource, key = KINDS[reference.kind], Key(scope.namespace, reference.name)
    informer, contents = _watch(scope, resource), scope.dependencies.contents
    cached = informer.raw(key)
    if cached is None and informer.is_synced:
        return None
    content = contents.get((reference.kind, key))
    if content is not None and cached is not None and _version(content) == _version(cached):
        return content
    try:
        document = await scope.dependencies.client.get(resource, key)
    except NotFound:
        return None
    contents.put((reference.kind, key), document)
    return document


def _version(document: Document) -> object:
    return document["metadata"]["resourceVersion"]


def _watch(scope: SetScope, resource: Resource) -> Informer[Document]:
    """Return the informer of all ConfigMaps or Secrets, started with the first set. Sources that no
    set names are ignored.
    """
    informer = scope.dependencies.cache.informer(resource, metadata=True)
    scope.dependencies.controller.watch(informer, scope.dependencies.source_keys)
    return informer


async def _own_source(scope: SetScope, reference: ResourceRef, document: Document) -> Source:
    resource, owner = KINDS[reference.kind], owner_reference(scope.set)
    document = await claim(
        scope.dependencies.client, resource, document, lambda value: ownership_patch(value, owner)
    )
    scope.dependencies.contents.put((reference.kind, Key.of(document)), document)
    named = {"apiVersion": "v1", "kind": reference.kind, **document}
    try:
        values = values_of(named)
    except BadManifest as error:
        return Source(reference, named, problem=str(error))
    return Source(reference, named, values, hash_of(values))
