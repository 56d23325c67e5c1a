"""Storage version migration: every object is rewritten in the version that the CRD stores."""

from __future__ import annotations

from collections.abc import Sequence

from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Conflict, KapyError, NotFound
from kapy.kube.names import CRDS, Resource


class MigrationFailed(KapyError):
    """Objects of a CRD could not be migrated; the message says which, and why."""


def storage_version(crd: Document) -> str:
    """Return the version in which objects are stored. Raises MigrationFailed."""
    for version in crd["spec"]["versions"]:
        if version.get("storage"):
            return str(version["name"])
    name = crd["metadata"]["name"]
    raise MigrationFailed(f"CustomResourceDefinition {name} has no storage version")


def is_required(crd: Document, storage: str) -> bool:
    """Return whether objects may be stored in another version than `storage`."""
    return (crd.get("status") or {}).get("storedVersions") != [storage]


def resource_of(crd: Document, version: str) -> Resource:
    """Return the resource that a CRD defines, in one version."""
    spec = crd["spec"]
    names = spec["names"]
    namespaced = spec["scope"] == "Namespaced"
    return Resource(spec["group"], version, names["plural"], names["kind"], namespaced=namespaced)


async def rewrite(
    client: Client,
    resource: Resource,
    objects: Sequence[Document],
    *,
    subresource: str,
    rewritten: set[Key],
) -> list[str]:
    """Rewrite each object with a patch that changes nothing; return the errors.

    subresource: `status` for objects whose webhooks could refuse the patch. rewritten: the keys of
    objects that need no patch (again); those that succeed are added.
    """
    errors = []
    for obj in objects:
        key = Key.of(obj)
        if key in rewritten:
            continue
        try:
            await client.patch(resource, key, _no_op(resource, obj), subresource=subresource)
        except (NotFound, Conflict):
            pass  # The object is gone, or another client has just written it.
        except ApiError as error:
            errors.append(f"{key}: {error}")
            continue
        rewritten.add(key)
    return errors


async def trim_stored_versions(client: Client, crd: Document, storage: str) -> Document:
    """Record that objects are stored in one version only. Raises Conflict if the CRD has changed
    meanwhile.
    """
    patch = {
        "metadata": {"resourceVersion": crd["metadata"]["resourceVersion"]},
        "status": {"storedVersions": [storage]},
    }
    return await client.patch(CRDS, Key.of(crd), patch, subresource="status")


def _no_op(resource: Resource, document: Document) -> Document:
    """Return a merge patch that holds only the identity and the resourceVersion of an object."""
    names = ("name", "namespace", "resourceVersion")
    metadata = {
        name: document["metadata"][name] for name in names if document["metadata"].get(name)
    }
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
