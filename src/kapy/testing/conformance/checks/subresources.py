"""Checks of the status subresource, without which status cannot be written apart from spec."""

from __future__ import annotations

from collections.abc import Iterator

from kapy.kube.nested import value_at
from kapy.testing.conformance.checks.check import Check, fault
from kapy.testing.conformance.checks.definitions import Subjects
from kapy.testing.conformance.definitions import Definition, field_at
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.release import Release

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
