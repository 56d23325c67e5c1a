"""Checks of CRDs: presence, scope, names, labels and the status subresource."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from kapy.api.names import Label
from kapy.clusterctl.install.checks import UNCHECKED_NAME
from kapy.contract.resolve import crd_name, version_priority
from kapy.kube.nested import value_at
from kapy.testing.conformance.checks.check import CannotTell, Check, fault
from kapy.testing.conformance.definitions import CONTRACTS, TEMPLATE, Definition, Role, field_at
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.release import Release

Subjects: TypeAlias = Callable[[Release], list[Definition]]
_NO_KIND = "there is no CRD of such a kind"


def all_of(role: Role) -> Subjects:
    """Return a function that finds the CRDs of a role and of its templates."""
    return lambda release: [
        definition for definition in release.definitions if definition.role == role
    ]


def mains_of(role: Role) -> Subjects:
    """Return a function that finds the CRDs of a role."""
    return lambda release: [
        definition for definition in all_of(role)(release) if not definition.is_template
    ]


def templates_of(role: Role) -> Subjects:
    """Return a function that finds the CRDs of a role's templates."""
    return lambda release: [
        definition for definition in all_of(role)(release) if definition.is_template
    ]


def presence(role: Role) -> Check[tuple[Release, bool]]:
    """Check that a provider of the role's type has a CRD for the role."""
    return Check(
        partial(_presence, role),
        partial(_absent, role),
        f"no {role.type.value} is known to be in it",
    )


def _presence(role: Role, release: Release) -> list[tuple[Release, bool]]:
    there = bool(mains_of(role)(release))
    if not there and not (release.type is role.type and release.whole_components):
        return []
    unknown = [definition for definition in release.definitions if _could_be(definition)]
    if not there and unknown:
        kinds = ", ".join(definition.kind for definition in unknown)
        raise CannotTell(f"no kind is called …{role.suffix}, but one of these may be it: {kinds}")
    return [(release, there)]


def _could_be(definition: Definition) -> bool:
    return definition.role is None and not definition.is_template and definition.is_namespaced


def _absent(role: Role, judged: tuple[Release, bool]) -> Iterator[Finding]:
    release, there = judged
    if not there:
        kinds = ", ".join(definition.kind for definition in release.definitions)
        yield Finding(
            release.whole_components[0].name,
            "",
            "",
            f"its CRDs are of the kinds {kinds}" if kinds else "has no CRDs",
            f"add a CRD of a kind …{role.suffix}",
        )


def scope(role: Role) -> Check[Definition]:
    """Check that the CRDs are namespaced."""
    return Check(all_of(role), _scope, _NO_KIND)


def _scope(definition: Definition) -> Iterator[Finding]:
    if not definition.is_namespaced:
        yield fault(definition.object, "spec.scope", "Cluster", "set it to Namespaced")


def name(role: Role) -> Check[Definition]:
    """Check that the name of the CRD is the one that upstream's CalculateCRDName computes."""
    return Check(all_of(role), _name, _NO_KIND)


def _name(definition: Definition) -> Iterator[Finding]:
    expected = crd_name(definition.group, definition.kind)
    annotations = definition.object.at("metadata.annotations")
    if isinstance(annotations, dict) and UNCHECKED_NAME in annotations:
        return
    if definition.object.name != expected:
        yield fault(
            definition.object,
            "metadata.name",
            f"{definition.object.name}, and not {expected}",
            f"call the CRD {expected}, and its plural so",
        )


def list_kind(subjects: Subjects, nothing: str = _NO_KIND) -> Check[Definition]:
    """Check that the list kind is <Kind>List; the API server defaults a missing one."""
    return Check(subjects, _list_kind, nothing)


def _list_kind(definition: Definition) -> Iterator[Finding]:
    text, expected = definition.object.at("spec.names.listKind"), f"{definition.kind}List"
    if text not in (None, "", expected):
        yield fault(
            definition.object,
            "spec.names.listKind",
            f"{text}, and not {expected}",
            f"make it {expected}",
        )


def template_name(role: Role) -> Check[tuple[Definition, Release]]:
    """Check that each template is named after a kind that exists."""
    return Check(
        lambda release: [(definition, release) for definition in templates_of(role)(release)],
        _template_name,
        "there is no CRD of a template",
    )


def _template_name(judged: tuple[Definition, Release]) -> Iterator[Finding]:
    definition, release = judged
    kinds = {item.kind for item in release.definitions if item.group == definition.group}
    if definition.main not in kinds:
        yield fault(
            definition.object,
            "spec.names.kind",
            f"{definition.kind}, but there is no kind {definition.main} in {definition.group}",
            "call the template's kind as the kind that it is for, with Template after it",
        )


def template(role: Role) -> Check[tuple[Definition, Release]]:
    """Check that each kind has a template."""
    return Check(
        lambda release: [(definition, release) for definition in mains_of(role)(release)],
        _template,
        _NO_KIND,
    )


def _template(judged: tuple[Definition, Release]) -> Iterator[Finding]:
    definition, release = judged
    wanted = f"{definition.kind}{TEMPLATE}"
    if not any(
        (item.group, item.kind) == (definition.group, wanted) for item in release.definitions
    ):
        yield fault(definition.object, "", f"there is no CRD of {wanted}", f"add the kind {wanted}")


def contract_label(role: Role) -> Check[Definition]:
    """Check that CRDs have a label for a supported contract."""
    return Check(mains_of(role), _contract_label, _NO_KIND)


def _contract_label(definition: Definition) -> Iterator[Finding]:
    if not any(definition.object.labels.get(label) for label in CONTRACTS):
        text = ", ".join(definition.contract_labels) or "none"
        yield fault(
            definition.object,
            "metadata.labels",
            f"labels of contracts: {text}",
            f"add {CONTRACTS[-1]}, with the versions of the CRD that keep that contract",
        )


def check_moved(role: Role) -> Check[Definition]:
    """Check that CRDs have a label by which `clusterctl move` discovers their objects."""
    return Check(mains_of(role), _missing_move_label, _NO_KIND)


def _missing_move_label(definition: Definition) -> Iterator[Finding]:
    wanted = (Label.CLUSTERCTL_MOVE_HIERARCHY, Label.CLUSTERCTL_MOVE)
    if not any(label in definition.object.labels for label in wanted):
        yield fault(
            definition.object,
            "metadata.labels",
            f"has neither {wanted[0]} nor {wanted[1]}",
            f"add {wanted[0]}: the pools stay behind when their addresses are moved",
        )


def label_versions(role: Role) -> Check[Definition]:
    """Check that contract labels name versions that exist."""
    return Check(
        lambda release: [
            definition for definition in all_of(role)(release) if definition.contract_labels
        ],
        _label_versions,
        "no CRD of such a kind has a label for a contract",
    )


def _label_versions(definition: Definition) -> Iterator[Finding]:
    has = ", ".join(definition.versions) or "none"
    for label, named in definition.contract_labels.items():
        if missing := [item for item in named if item not in definition.versions]:
            yield fault(
                definition.object,
                f"metadata.labels[{label}]",
                f"names {', '.join(missing)}; versions of the CRD: {has}",
                "name only versions that the CRD has, or drop the label",
            )
    yield from _served_findings(definition)


def _served_findings(definition: Definition) -> Iterator[Finding]:
    label = next(
        (contract for contract in reversed(CONTRACTS) if contract in definition.contract_labels), ""
    )
    there = [
        item for item in definition.contract_labels.get(label, ()) if item in definition.versions
    ]
    newest = max(there, key=version_priority, default="")
    if newest and not definition.versions[newest].get("served"):
        yield fault(
            definition.object,
            f"metadata.labels[{label}]",
            f"core picks {newest}, which is not served",
            "serve that version, or name one that is served",
        )


_NONE = "no served version of a CRD of such a kind has a status"


def status(subjects: Subjects) -> Check[tuple[Definition, str]]:
    """Check that served versions with a status have the subresource."""

    def versions(release: Release) -> Iterator[tuple[Definition, str]]:
        for subject in subjects(release):
            for name, version in subject.versions.items():
                schema = value_at(version, ("schema", "openAPIV3Schema"))
                if version.get("served") and field_at(schema, "status") is not None:
                    yield subject, name

    return Check(versions, _faults, _NONE)


def _faults(judged: tuple[Definition, str]) -> Iterator[Finding]:
    definition, name = judged
    if not isinstance(value_at(definition.versions[name], ("subresources", "status")), dict):
        yield fault(
            definition.object,
            f"spec.versions[{name}].subresources.status",
            "is missing, so that requests to …/status are answered with 404",
            "set it to {} (kubebuilder: // +kubebuilder:subresource:status)",
        )
