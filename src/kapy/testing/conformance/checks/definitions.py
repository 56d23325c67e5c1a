"""Checks of CRDs: presence, scope, names and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from kapy.api.names import Label
from kapy.clusterctl.install.checks import UNCHECKED_NAME
from kapy.contract.crd_names import crd_name
from kapy.contract.resolve import version_priority
from kapy.testing.conformance.checks.check import CannotTell, Check, fault
from kapy.testing.conformance.definitions import CONTRACTS, TEMPLATE, Definition, Role
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.release import Release

Subjects: TypeAlias = Callable[[Release], list[Definition]]
_NO_KIND = "there is no CRD of such a kind"


def all_of(role: Role) -> Subjects:
    """Return a function that finds the CRDs of a role and of its templates."""
    return lambda release: [one for one in release.definitions if one.role == role]


def mains_of(role: Role) -> Subjects:
    """Return a function that finds the CRDs of a role."""
    return lambda release: [one for one in all_of(role)(release) if not one.is_template]


def templates_of(role: Role) -> Subjects:
    """Return a function that finds the CRDs of a role's templates."""
    return lambda release: [one for one in all_of(role)(release) if one.is_template]


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
    unknown = [one for one in release.definitions if _could_be(one)]
    if not there and unknown:
        kinds = ", ".join(one.kind for one in unknown)
        raise CannotTell(f"no kind is called …{role.suffix}, but one of these may be it: {kinds}")
    return [(release, there)]


def _could_be(one: Definition) -> bool:
    return one.role is None and not one.is_template and one.is_namespaced


def _absent(role: Role, judged: tuple[Release, bool]) -> Iterator[Finding]:
    release, there = judged
    if not there:
        kinds = ", ".join(one.kind for one in release.definitions)
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


def _scope(one: Definition) -> Iterator[Finding]:
    if not one.is_namespaced:
        yield fault(one.object, "spec.scope", "Cluster", "set it to Namespaced")


def name(role: Role) -> Check[Definition]:
    """Check that the name of the CRD is the one that upstream's CalculateCRDName computes."""
    return Check(all_of(role), _name, _NO_KIND)


def _name(one: Definition) -> Iterator[Finding]:
    expected = crd_name(one.group, one.kind)
    annotations = one.object.at("metadata.annotations")
    if isinstance(annotations, dict) and UNCHECKED_NAME in annotations:
        return
    if one.object.name != expected:
        yield fault(
            one.object,
            "metadata.name",
            f"{one.object.name}, and not {expected}",
            f"call the CRD {expected}, and its plural so",
        )


def list_kind(subjects: Subjects, nothing: str = _NO_KIND) -> Check[Definition]:
    """Check that the list kind is <Kind>List; the API server defaults a missing one."""
    return Check(subjects, _list_kind, nothing)


def _list_kind(one: Definition) -> Iterator[Finding]:
    text, expected = one.object.at("spec.names.listKind"), f"{one.kind}List"
    if text not in (None, "", expected):
        yield fault(
            one.object, "spec.names.listKind", f"{text}, and not {expected}", f"make it {expected}"
        )


def template_name(role: Role) -> Check[tuple[Definition, Release]]:
    """Check that each template is named after a kind that exists."""
    return Check(
        lambda release: [(one, release) for one in templates_of(role)(release)],
        _template_name,
        "there is no CRD of a template",
    )


def _template_name(judged: tuple[Definition, Release]) -> Iterator[Finding]:
    one, release = judged
    kinds = {each.kind for each in release.definitions if each.group == one.group}
    if one.main not in kinds:
        yield fault(
            one.object,
            "spec.names.kind",
            f"{one.kind}, but there is no kind {one.main} in {one.group}",
            "call the template's kind as the kind that it is for, with Template after it",
        )


def template(role: Role) -> Check[tuple[Definition, Release]]:
    """Check that each kind has a template."""
    return Check(
        lambda release: [(one, release) for one in mains_of(role)(release)], _template, _NO_KIND
    )


def _template(judged: tuple[Definition, Release]) -> Iterator[Finding]:
    one, release = judged
    wanted = f"{one.kind}{TEMPLATE}"
    if not any((each.group, each.kind) == (one.group, wanted) for each in release.definitions):
        yield fault(one.object, "", f"there is no CRD of {wanted}", f"add the kind {wanted}")


def contract_label(role: Role) -> Check[Definition]:
    """Check that CRDs have a label for a supported contract."""
    return Check(mains_of(role), _contract_label, _NO_KIND)


def _contract_label(one: Definition) -> Iterator[Finding]:
    if not any(one.object.labels.get(label) for label in CONTRACTS):
        text = ", ".join(one.contract_labels) or "none"
        yield fault(
            one.object,
            "metadata.labels",
            f"labels of contracts: {text}",
            f"add {CONTRACTS[-1]}, with the versions of the CRD that keep that contract",
        )


def moved(role: Role) -> Check[Definition]:
    """Check that CRDs have a label by which `clusterctl move` discovers their objects."""
    return Check(mains_of(role), _moved, _NO_KIND)


def _moved(one: Definition) -> Iterator[Finding]:
    wanted = (Label.CLUSTERCTL_MOVE_HIERARCHY, Label.CLUSTERCTL_MOVE)
    if not any(label in one.object.labels for label in wanted):
        yield fault(
            one.object,
            "metadata.labels",
            f"has neither {wanted[0]} nor {wanted[1]}",
            f"add {wanted[0]}: the pools stay behind when their addresses are moved",
        )


def label_versions(role: Role) -> Check[Definition]:
    """Check that contract labels name versions that exist."""
    return Check(
        lambda release: [one for one in all_of(role)(release) if one.contract_labels],
        _label_versions,
        "no CRD of such a kind has a label for a contract",
    )


def _label_versions(one: Definition) -> Iterator[Finding]:
    has = ", ".join(one.versions) or "none"
    for label, named in one.contract_labels.items():
        if missing := [each for each in named if each not in one.versions]:
            yield fault(
                one.object,
                f"metadata.labels[{label}]",
                f"names {', '.join(missing)}; versions of the CRD: {has}",
                "name only versions that the CRD has, or drop the label",
            )
    yield from _served(one)


def _served(one: Definition) -> Iterator[Finding]:
    label = next((each for each in reversed(CONTRACTS) if each in one.contract_labels), "")
    there = [each for each in one.contract_labels.get(label, ()) if each in one.versions]
    newest = max(there, key=version_priority, default="")
    if newest and not one.versions[newest].get("served"):
        yield fault(
            one.object,
            f"metadata.labels[{label}]",
            f"core picks {newest}, which is not served",
            "serve that version, or name one that is served",
        )
