"""The paths of an OpenAPI v3 document: operations, parameters and responses."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.apiserver.resources.kind import Kind
from kapy.kube import Document

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_SCALE = "io.k8s.api.autoscaling.v1.Scale"


def ref(name: str) -> Document:
    """Return a reference to the schema with this name."""
    return {"$ref": f"#/components/schemas/{name}"}


_ACTIONS = {
    "get": ("get", "get", "read", "read {part}the specified {kind}"),
    "list": ("get", "list", "list", "list objects of kind {kind}"),
    "create": ("post", "post", "create", "create a {kind}"),
    "update": ("put", "put", "replace", "replace {part}the specified {kind}"),
    "patch": ("patch", "patch", "patch", "partially update {part}the specified {kind}"),
    "delete": ("delete", "delete", "delete", "delete a {kind}"),
    "deletecollection": (
        "delete",
        "deletecollection",
        "deleteCollection",
        "delete collection of {kind}",
    ),
}
"""HTTP method, action, prefix of the operation id and description of each verb."""

_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_SELECT = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "get": ("resourceVersion",),
    "list": _SELECT,
    "create": _WRITE,
    "update": _WRITE,
    "patch": (*_WRITE, "force"),
    "delete": _DELETE,
    "deletecollection": tuple(sorted({*_SELECT, *_DELETE})),
}
_TYPED = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_SAID = {
    "allowWatchBookmarks": "whether a watch also tells how far it is, when nothing happens",
    "continue": "where a list goes on: `continue` of the page before",
    "dryRun": "`All`: check everything, store nothing",
    "fieldManager": "who owns the fields that are written; needed to apply",
    "fieldSelector": "only objects whose fields have these values",
    "fieldValidation": "unknown and duplicate fields: `Ignore`, `Warn` (default) or `Strict`",
    "force": "take fields over that others own; only to apply",
    "gracePeriodSeconds": "how long the object may take to end",
    "labelSelector": "only objects whose labels match",
    "limit": "objects on one page at most",
    "name": "name of the {kind}",
    "namespace": "the namespace of the object",
    "orphanDependents": "older form of `propagationPolicy`",
    "pretty": "accepted; answers are always compact",
    "propagationPolicy": "what becomes of dependents: `Orphan`, `Background` or `Foreground`",
    "resourceVersion": "the state to read from, or to watch from",
    "resourceVersionMatch": "how `resourceVersion` is meant: `Exact` or `NotOlderThan`",
    "sendInitialEvents": "whether a watch begins with what is there",
    "timeoutSeconds": "how long a watch goes on",
    "watch": "events as they come instead of a list",
}
_CODES = {
    "create": (("201", "Created"), ("202", "Accepted")),
    "update": (("201", "Created"),),
    "delete": (("202", "Accepted"),),
}
_PATCHES = ("apply-patch+yaml", "json-patch+json", "merge-patch+json")
_STRATEGIC = "strategic-merge-patch+json"


def add_paths(kind: Kind, shape: str, paths: Document) -> None:
    """Add the paths of a kind to a document. shape: the name of the kind's schema."""
    resource = kind.resource
    base = resource.root
    added: Document = {}
    if kind.namespaced:
        base += "/namespaces/{namespace}"
        if "list" in kind.verbs:
            everywhere = _operations(kind, shape, ("list",), everywhere=True)
            added[f"{resource.root}/{resource.plural}"] = everywhere
    base += f"/{resource.plural}"
    collection = [verb for verb in ("list", "create", "deletecollection") if verb in kind.verbs]
    added[base] = _operations(kind, shape, collection)
    value = [verb for verb in ("get", "update", "patch", "delete") if verb in kind.verbs]
    if value:
        added[f"{base}/{{name}}"] = _operations(kind, shape, value)
    for part in sorted(kind.subresources & {"status", "scale"}):
        added[f"{base}/{{name}}/{part}"] = _operations(
            kind, shape, ("get", "update", "patch"), part
        )
    for path, operations in added.items():
        paths[path] = {**operations, "parameters": _path_parameters(kind, path)}


def _operations(
    kind: Kind, shape: str, verbs: Iterable[str], part: str = "", *, everywhere: bool = False
) -> Document:
    """Return the OpenAPI operations of one path. everywhere: whether the path covers all
    namespaces.
    """
    resource = kind.resource
    if part == "scale":
        shape = _SCALE
    operations: Document = {}
    for verb in verbs:
        method, action, _, sentence = _ACTIONS[verb]
        result = {"list": f"{shape}List", "deletecollection": f"{META}.Status"}.get(verb, shape)
        if verb == "delete":
            result = f"{META}.Status"
        codes = (("200", "OK"), *_CODES.get(verb, ()))
        operation: Document = {
            "tags": [f"{_group_id(resource.group)}_{resource.version}"],
            "description": sentence.format(kind=resource.kind, part=f"{part} of " if part else ""),
            "operationId": _operation_id(kind, verb, part, everywhere=everywhere),
            "parameters": [
                _parameter(item, _TYPED.get(item, "string")) for item in _PARAMETERS[verb]
            ],
            "responses": {
                **{code: {"description": text, "content": _bodies(result)} for code, text in codes},
                "401": {"description": "Unauthorized"},
            },
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {
                "group": resource.group,
                "version": resource.version,
                "kind": resource.kind,
            },
        }
        if verb in ("create", "update"):
            operation["requestBody"] = {"content": _bodies(shape), "required": True}
        elif verb == "patch":
            operation["requestBody"] = {"content": _patches(kind), "required": True}
        elif verb == "delete":
            operation["requestBody"] = {"content": _bodies(f"{META}.DeleteOptions")}
        operations[method] = operation
    return operations


def _parameter(name: str, kind: str) -> Document:
    return {
        "name": name,
        "in": "query",
        "description": _SAID[name],
        "schema": {"type": kind, "uniqueItems": True},
    }


def _path_parameters(kind: Kind, path: str) -> list[Document]:
    """Return the parameters of all operations of a path."""
    result = []
    for name in ("name", "namespace"):
        if f"{{{name}}}" in path:
            result.append(
                {
                    "name": name,
                    "in": "path",
                    "description": _SAID[name].format(kind=kind.resource.kind),
                    "required": True,
                    "schema": {"type": "string", "uniqueItems": True},
                }
            )
    return [*result, _parameter("pretty", "string")]


def _bodies(name: str) -> Document:
    return {f"application/{form}": {"schema": ref(name)} for form in ("json", "yaml")}


def _patches(kind: Kind) -> Document:
    forms = _PATCHES if kind.custom else (*_PATCHES, _STRATEGIC)
    return {f"application/{form}": {"schema": ref(f"{META}.Patch")} for form in forms}


def _group_id(group: str) -> str:
    """Return a group as in operation ids: `oracleExampleDev`, `core`, `rbacAuthorization`."""
    words = (group or "core").removesuffix(".k8s.io").replace("-", ".").split(".")
    return words[0] + "".join(word.capitalize() for word in words[1:])


def _operation_id(kind: Kind, verb: str, part: str, *, everywhere: bool) -> str:
    """Return the id of an operation, such as `readOracleExampleDevV1NamespacedWidgetStatus`."""
    resource, begins = kind.resource, _ACTIONS[verb][2]
    group = _group_id(resource.group)
    where = "Namespaced" if kind.namespaced and not everywhere else ""
    after = "ForAllNamespaces" if everywhere else part.capitalize()
    begins, collection = ("delete", "Collection") if verb == "deletecollection" else (begins, "")
    version = resource.version.capitalize()
    middle = f"{group[0].upper()}{group[1:]}{version}{collection}{where}"
    return f"{begins}{middle}{resource.kind}{after}"
