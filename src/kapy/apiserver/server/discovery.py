"""Discovery of groups, versions and resources, in the legacy and the aggregated form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from kapy.apiserver.resources.custom import version_priority
from kapy.apiserver.resources.kind import Kind, subresource_verbs
from kapy.apiserver.resources.registry import Registry
from kapy.kube import Document

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
CUSTOM_VERBS = (
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
)
_PART_KINDS = {
    "scale": ("autoscaling", "v1", "Scale"),
    "eviction": ("policy", "v1", "Eviction"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
    "binding": ("", "v1", "Binding"),
}


def core_versions() -> Document:
    """Return the document at `/api`: the versions of the core group."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
    }


def group_list(registry: Registry) -> Document:
    """Return the document at `/apis`: all groups except the core group, with their versions."""
    names = dict.fromkeys(kind.resource.group for kind in registry if kind.resource.group)
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(registry, name) for name in names],
    }


def served_versions(registry: Registry, group: str) -> list[str]:
    """Return the served versions of a group, the preferred one first."""
    versions = {kind.resource.version for kind in registry if kind.resource.group == group}
    return sorted(versions, key=lambda value: (version_priority(value), value), reverse=True)


def _group(registry: Registry, name: str) -> Document:
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for version in served_versions(registry, name)
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def group(registry: Registry, name: str) -> Document | None:
    """Return the document at `/apis/<group>`, None if the group is not served."""
    if not name or not registry.has_group(name):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(registry, name)}


def resource_list(registry: Registry, group_name: str, version: str) -> Document | None:
    """Return the document at `/api/v1` or `/apis/<group>/<version>`, None if it is not served."""
    kinds = _kinds(registry, group_name, version)
    if not kinds:
        return None
    entries = [entry for kind in kinds for entry in _entries(kind)]
    document: Document = {"kind": "APIResourceList"}
    if group_name:
        document["apiVersion"] = "v1"
    document["groupVersion"] = f"{group_name}/{version}" if group_name else version
    document["resources"] = entries
    return document


def _kinds(registry: Registry, group_name: str, version: str) -> list[Kind]:
    result = [
        kind
        for kind in registry
        if kind.resource.group == group_name and kind.resource.version == version
    ]
    return sorted(result, key=lambda kind: kind.resource.plural)


def _entries(kind: Kind) -> Iterable[Document]:
    resource = kind.resource
    entry: Document = {
        "name": resource.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": resource.kind,
        "verbs": list(_verbs(kind)),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if "list" in kind.verbs:
        entry["storageVersionHash"] = _hash(kind)
    yield entry
    for part in sorted(kind.subresources):
        named: Document = {
            "name": f"{resource.plural}/{part}",
            "singularName": "",
            "namespaced": kind.namespaced,
        }
        if part in _PART_KINDS:
            group_name, version, name = _PART_KINDS[part]
            if group_name:
                named |= {"group": group_name, "version": version}
            named["kind"] = name
        else:
            named["kind"] = resource.kind
        named["verbs"] = list(_subresource_verbs(part))
        yield named


def _verbs(kind: Kind) -> tuple[str, ...]:
    return CUSTOM_VERBS if kind.custom else kind.verbs


def _subresource_verbs(part: str) -> tuple[str, ...]:
    return subresource_verbs(part)


def _hash(kind: Kind) -> str:
    """Return the storageVersionHash, which clients compare."""
    storage = kind.storage
    text = f"{storage.group}/{storage.version}/{storage.kind}"
    digest = hashlib.sha256(text.encode()).digest()[:8]
    import base64

    return base64.b64encode(digest).decode()


def aggregated_discovery(registry: Registry, *, legacy: bool) -> Document:
    """Return aggregated discovery of the core group (legacy), or of all other groups."""
    names = dict.fromkeys(
        kind.resource.group for kind in registry if bool(kind.resource.group) is not legacy
    )
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": name} if name else {},
                "versions": [
                    {
                        "version": version,
                        "resources": [
                            _aggregated_resource(kind) for kind in _kinds(registry, name, version)
                        ],
                        "freshness": "Current",
                    }
                    for version in served_versions(registry, name)
                ],
            }
            for name in names
        ],
    }


def _aggregated_resource(kind: Kind) -> Document:
    resource = kind.resource
    own = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    if not kind.custom:
        own |= {"group": "", "version": ""}
    entry: Document = {
        "resource": resource.plural,
        "responseKind": own,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(_verbs(kind)),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    parts = [_aggregated_subresource(kind, part, own) for part in sorted(kind.subresources)]
    if parts:
        entry["subresources"] = parts
    return entry


def _aggregated_subresource(kind: Kind, part: str, own: Document) -> Document:
    del kind
    results = _PART_KINDS.get(part)
    shown = (
        own if results is None else dict(zip(("group", "version", "kind"), results, strict=True))
    )
    return {"subresource": part, "responseKind": shown, "verbs": list(_subresource_verbs(part))}
