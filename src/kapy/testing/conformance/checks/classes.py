"""Checks of ClusterClasses, their files, and the templates that they refer to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kapy.kube.names import split_api_version
from kapy.kube.nested import value_at
from kapy.testing.conformance.checks.check import Check, fault
from kapy.testing.conformance.checks.templates import namespaces_in
from kapy.testing.conformance.definitions import TEMPLATE, Role
from kapy.testing.conformance.files import File, Object
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.release import CORE_GROUP, Release

_KIND: Final = "ClusterClass"
_NONE: Final = "there are no ClusterClass files"


def _files(release: Release) -> list[File]:
    return release.classes


def _definitions(release: Release) -> list[Object]:
    """Return the ClusterClasses that have files of their own."""
    if not release.is_repository:
        return []
    files = [*release.classes, *release.templates, *release.misnamed(_KIND)]
    return [
        item
        for file in files
        if not file.of_kind("Cluster", CORE_GROUP)
        for item in file.of_kind(_KIND, CORE_GROUP)
    ]


def _misnamed_findings(value: Object) -> Iterator[Finding]:
    expected = f"clusterclass-{value.name}.yaml"
    if "${" in value.name:
        if value.file.startswith("clusterclass-"):
            return
        expected = "clusterclass-<name>.yaml"
    if value.file != expected:
        yield fault(
            value,
            "metadata.name",
            f"is {value.name}, and no Cluster is in the file",
            f"call the file {expected}: `generate cluster` looks for it there",
        )


NAMES: Final = Check(
    _definitions, _misnamed_findings, "it is no release with files of ClusterClasses"
)
NAMESPACE: Final = Check(_files, namespaces_in, _NONE)


def _with_namespace(file: File) -> Iterator[Finding]:
    for obj in file.objects:
        if obj.namespace and obj.kind != "Namespace":
            remedy = "leave it out: the class goes where it is asked for"
            yield fault(obj, "metadata.namespace", f"is {obj.namespace}", remedy)


OBJECTS: Final = Check(_files, _with_namespace, _NONE)


def _with_variables(file: File) -> Iterator[Finding]:
    if file.variables:
        yield Finding(
            file.name,
            "",
            "",
            f"has the variables {', '.join(file.variables)}",
            "make them variables of the ClusterClass (spec.variables)",
        )


VARIABLES: Final = Check(_files, _with_variables, _NONE)


@dataclass(frozen=True)
class _Shared:
    object: Object
    first: Object | None


def _all_objects(release: Release) -> Iterator[_Shared]:
    if len(release.classes) < 2:
        return
    first_objects: dict[tuple[str, str, str], Object] = {}
    for file in release.classes:
        for obj in file.objects:
            key = (obj.group, obj.kind, obj.name)
            first = first_objects.setdefault(key, obj)
            # Variables may differ between files.
            shared = first.file != obj.file and "${" not in obj.name
            yield _Shared(obj, first if shared else None)


def _shared_findings(judged: _Shared) -> Iterator[Finding]:
    if judged.first is not None:
        yield fault(
            judged.object,
            "metadata.name",
            f"is in {judged.first.file}, too",
            "give each class objects of its own: a change of one changes all",
        )


SHARING: Final = Check(_all_objects, _shared_findings, "there are not several ClusterClass files")


@dataclass(frozen=True)
class Reference:
    """A reference of a ClusterClass. path: its field; word: its purpose."""

    owner: Object
    path: str
    word: str
    value: dict[str, Any]


def references(release: Release) -> Iterator[Reference]:
    """All references of all ClusterClasses, in both versions of the API."""
    for cluster_class in release.cluster_classes:
        yield from _references(cluster_class, cluster_class.at("spec"), "spec", "")


def _references(value: Object, node: Any, path: str, word: str) -> Iterator[Reference]:
    """Yield the references below a node: templateRef in v1beta2, ref in v1beta1."""
    if isinstance(node, list):
        for place, below in enumerate(node):
            yield from _references(value, below, f"{path}[{place}]", word)
    elif isinstance(node, dict):
        for key, below in node.items():
            if key in _BLIND:
                continue
            if key in ("ref", "templateRef") and isinstance(below, dict):
                yield Reference(value, f"{path}.{key}", word, below)
            else:
                inner = word if key == "template" else f"{word}.{key}"
                yield from _references(value, below, f"{path}.{key}", inner)


_BLIND: Final = ("variables", "patches")


def _with_files(release: Release) -> list[Reference]:
    return [
        reference for reference in references(release) if reference.owner.file in _names_of(release)
    ]


def _names_of(release: Release) -> set[str]:
    return {cluster_class.name for cluster_class in release.classes}


def _namespaced_findings(judged: Reference) -> Iterator[Finding]:
    namespace = judged.value.get("namespace")
    if namespace:
        remedy = "leave it out: templates are in the namespace of their class"
        yield fault(judged.owner, f"{judged.path}.namespace", f"is {namespace}", remedy)


REFERENCES: Final = Check(_with_files, _namespaced_findings, _NONE)

USES: Final = {
    "infra-cluster": ".infrastructure",
    "infra-machinepool": ".workers.machinePools.infrastructure",
    "control-plane": ".controlPlane",
}
"""Where a ClusterClass refers to templates, by the document of their kinds."""


def template_of_class(role: Role) -> Check[tuple[Reference, Release]]:
    """Check that templates of own kinds which a ClusterClass refers to have a CRD."""
    return Check(
        partial(_uses, role),
        _without_crd,
        "no ClusterClass of the release refers to a template of such a kind",
    )


def _uses(role: Role, release: Release) -> Iterator[tuple[Reference, Release]]:
    own = {
        (definition.group, definition.kind)
        for definition in release.definitions
        if definition.role == role and not definition.is_template
    }
    for reference in references(release):
        group, kind = _referenced_kind(reference)
        if reference.word == USES[role.document] and (group, kind.removesuffix(TEMPLATE)) in own:
            yield reference, release


def _referenced_kind(reference: Reference) -> tuple[str, str]:
    group, _ = split_api_version(str(reference.value.get("apiVersion") or ""))
    return group, str(value_at(reference.value, ("kind",)) or "")


def _without_crd(judged: tuple[Reference, Release]) -> Iterator[Finding]:
    reference, release = judged
    meant = _referenced_kind(reference)
    if meant not in {(definition.group, definition.kind) for definition in release.definitions}:
        remedy = f"add the kind {meant[1]}"
        yield fault(reference.owner, reference.path, f"no CRD has the kind {meant[1]}", remedy)
