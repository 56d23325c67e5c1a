"""Checks that objects of own kinds in templates and ClusterClasses fit the provider's CRDs.

API servers drop fields that a structural schema does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from kapy.api.names import CLUSTER_GROUP
from kapy.clusterctl.provider import ProviderType
from kapy.kube.digits import has_only_digits
from kapy.kube.names import split_api_version
from kapy.kube.nested import value_at
from kapy.testing.conformance.checks.check import Check, fault
from kapy.testing.conformance.definitions import ROLES, TEMPLATE, Definition, Role
from kapy.testing.conformance.files import File, Object
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.release import Release

_KEEPS: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_OF_ALL: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Fields of every object, which schemas do not have to name."""
_VARIABLE: Final = "${"


def unknown(schema: Mapping[str, Any], document: Any) -> Iterator[str]:
    """Return the paths of an object's fields that its schema does not know.

    Values that variables stand for are not checked.
    """
    if isinstance(document, dict) and "properties" in schema and "kind" in document:
        document = {name: value for name, value in document.items() if name not in _OF_ALL}
    yield from _below(schema, document, "")


def _below(node: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        items = node.get("items")
        if isinstance(items, dict):
            for place, item in enumerate(value):
                yield from _below(items, item, f"{path}[{place}]")
    elif isinstance(value, dict) and not node.get(_EMBEDDED):
        for name, element in value.items():
            if not isinstance(name, str) or _VARIABLE in name:
                continue
            at = f"{path}.{name}" if path else name
            below = _property(node, name)
            if below is None:
                yield at
            else:
                yield from _below(below, element, at)


_ANY: Final[Mapping[str, Any]] = {_KEEPS: True}


def _property(node: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return the schema of a field; None if it is not known."""
    properties = node.get("properties")
    if isinstance(properties, dict) and name in properties:
        result = properties[name]
        return result if isinstance(result, dict) else _ANY
    more = node.get("additionalProperties")
    if isinstance(more, dict):
        return more
    is_object = node.get("type") in ("object", None)
    return _ANY if more or node.get(_KEEPS) or not is_object else None


def node_below(schema: Mapping[str, Any], parts: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the schema at a JSON pointer; None if there is none."""
    node: Mapping[str, Any] = schema
    for part in parts:
        items = node.get("items")
        if isinstance(items, dict) and (part == "-" or has_only_digits(part)):
            node = items
            continue
        below = _property(node, part)
        if below is None:
            return None
        node = below
    return node


_NONE: Final = "no template and no ClusterClass has or names an object of the provider's own kinds"
_SUFFIXES: Final = tuple(sorted((role.suffix for role in ROLES), key=len, reverse=True))

_TELLING: Final = 3
"""Letters with which the kinds of one provider begin, at least."""


@dataclass(frozen=True)
class _Use:
    """A place where a kind is named. path: the field, "" for the object itself."""

    object: Object
    path: str
    group: str
    version: str
    kind: str


class _Own:
    """The kinds that a release defines."""

    def __init__(self, release: Release) -> None:
        self._release = release

    @cached_property
    def definitions(self) -> dict[tuple[str, str], Definition]:
        """The release's CRDs by group and kind."""
        return {
            (definition.group, definition.kind): definition
            for definition in self._release.definitions
        }

    @cached_property
    def _stems(self) -> set[str]:
        return {_stem(definition.kind) for definition in self._release.definitions}

    @cached_property
    def _types(self) -> set[ProviderType]:
        """Return the types of the release's providers; a combined release has several."""
        types = {
            definition.role.type
            for definition in self._release.definitions
            if definition.role is not None
        }
        return types if types == {self._release.type} else set()

    def has(self, group: str, kind: str) -> bool:
        """Return whether the release should have a CRD for a kind.

        A provider's own API group has no kinds of other providers. In groups of Cluster API, which
        all providers share, own kinds are recognized by name prefix or by the provider's role.
        """
        if (group, kind) in self.definitions:
            return True
        if _VARIABLE in kind or not any(group == item for item, _ in self.definitions):
            return False
        if not group.endswith(CLUSTER_GROUP):
            return True
        role = _role(group, kind)
        if role is None:  # perhaps a misspelt kind
            return any(len(stem) >= _TELLING and kind.startswith(stem) for stem in self._stems)
        return role.type in self._types or _stem(kind) in self._stems


def _role(group: str, kind: str) -> Role | None:
    main, word = kind.removesuffix(TEMPLATE), group.partition(".")[0]
    roles = [role for role in ROLES if role.word == word and main.endswith(role.suffix)]
    return roles[0] if roles else None


def _stem(kind: str) -> str:
    main = kind.removesuffix(TEMPLATE)
    suffix = next((item for item in _SUFFIXES if main.endswith(item)), "")
    return main.removesuffix(suffix) if suffix else main


def _files(release: Release) -> list[File]:
    others = [cluster_class.file for cluster_class in release.cluster_classes]
    more = [file for file in release.files if file.name in others]
    return list(dict.fromkeys((*release.templates, *release.classes, *more)))


def _uses(release: Release) -> Iterator[tuple[_Use, _Own]]:
    """Yield the objects and references of own kinds."""
    own = _Own(release)
    if not own.definitions:
        return
    for file in _files(release):
        for obj in file.objects:
            for use in _named_in(obj, obj.document, ""):
                if own.has(use.group, use.kind):
                    yield use, own


def _named_in(value: Object, node: Any, path: str) -> Iterator[_Use]:
    if isinstance(node, list):
        for place, below in enumerate(node):
            yield from _named_in(value, below, f"{path}[{place}]")
    elif isinstance(node, dict):
        kind, version = node.get("kind"), node.get("apiVersion")
        group = node.get("apiGroup")
        if isinstance(kind, str) and isinstance(version, str):
            yield _Use(value, path, *split_api_version(version), kind)
        elif isinstance(kind, str) and isinstance(group, str):
            yield _Use(value, path, group, "", kind)
        for key, below in node.items():
            yield from _named_in(value, below, f"{path}.{key}" if path else str(key))


def _unknown_kind(judged: tuple[_Use, _Own]) -> Iterator[Finding]:
    use, own = judged
    definition = own.definitions.get((use.group, use.kind))
    place = ".".join(filter(None, (use.path, "kind")))
    if definition is None:
        kinds = ", ".join(sorted(kind for group, kind in own.definitions if group == use.group))
        yield fault(
            use.object,
            place,
            f"no CRD of the release has the kind {use.kind} in {use.group}, only {kinds}",
            "name a kind that the release has, or add its CRD",
        )
    elif use.version and _VARIABLE not in use.version:
        version = definition.versions.get(use.version)
        if version is None or not version.get("served"):
            served = [name for name, value in definition.versions.items() if value.get("served")]
            has = "is not served" if version else f"is not there, only {', '.join(served)}"
            yield fault(
                use.object,
                ".".join(filter(None, (use.path, "apiVersion"))),
                f"version {use.version} of {use.kind} {has}",
                "write a version that the CRD serves",
            )


KINDS: Final = Check(_uses, _unknown_kind, _NONE)


def _objects(release: Release) -> Iterator[tuple[Object, Any]]:
    """Return own objects, each with the schema of its version."""
    own = _Own(release)
    for file in _files(release):
        for obj in file.objects:
            group, version = split_api_version(str(obj.document.get("apiVersion") or ""))
            schema = _schema(own, group, obj.kind, version)
            if schema is not None or obj.kind == "ClusterClass":
                yield obj, schema if schema is not None else own


def _schema(own: _Own, group: str, kind: str, version: str) -> Any:
    """Return the schema of a version; None if there is none or if it preserves unknown fields."""
    definition = own.definitions.get((group, kind))
    if definition is None or definition.object.at("spec.preserveUnknownFields"):
        return None
    schema = value_at(definition.versions.get(version) or {}, ("schema", "openAPIV3Schema"))
    return schema if isinstance(schema, dict) else None


def _unknown_fields(judged: tuple[Object, Any]) -> Iterator[Finding]:
    value, schema = judged
    if isinstance(schema, _Own):
        yield from _unknown_in_patches(value, schema)
        return
    for path in unknown(schema, value.document):
        yield fault(
            value,
            path,
            f"the CRD of {value.kind} has no such field in {value.document['apiVersion']}",
            "correct its name, or add it to the CRD: API servers drop or refuse it",
        )


def _unknown_in_patches(value: Object, own: _Own) -> Iterator[Finding]:
    for number, patch in enumerate(value.items("spec.patches")):
        for place, definition in enumerate(_dicts(patch.get("definitions"))):
            at = f"spec.patches[{number}].definitions[{place}]"
            version = value_at(definition, ("selector", "apiVersion"))
            kind = value_at(definition, ("selector", "kind"))
            schema = _schema(own, *_kind_key(version, kind))
            if schema is not None:
                for index, change in enumerate(_dicts(definition.get("jsonPatches"))):
                    where = f"{at}.jsonPatches[{index}]"
                    yield from _unknown_in_change(value, schema, change, where, str(kind))


def _kind_key(api_version: Any, kind: Any) -> tuple[str, str, str]:
    group, version = split_api_version(str(api_version or ""))
    return group, str(kind or ""), version


def _unknown_in_change(
    value: Object, schema: Any, change: dict[str, Any], where: str, kind: str
) -> Iterator[Finding]:
    path = change.get("path")
    if not isinstance(path, str):
        return
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
    node = node_below(schema, parts)
    if node is None:
        evidence, remedy = f"{path}: {kind} has no such field", "correct the path"
        yield fault(value, f"{where}.path", evidence, remedy)
    else:
        for below in unknown(node, change.get("value")):
            evidence = f"{path}: {kind} has no field {below} there"
            yield fault(value, f"{where}.value", evidence, "correct its name")


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _with_definitions(release: Release) -> list[tuple[Object, Any]]:
    return list(_objects(release)) if release.definitions else []


FIELDS: Final = Check(_with_definitions, _unknown_fields, _NONE)
