"""Checks of MachinePools in templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.clusterctl.provider import ProviderType
from kapy.kube.names import split_api_version
from kapy.testing.conformance.checks.check import Check, fault
from kapy.testing.conformance.files import Object
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.release import CORE_GROUP, Release

_PATH: Final = "spec.template.spec.infrastructureRef"


def _pools(release: Release) -> Iterator[tuple[Object, Release]]:
    if release.type is ProviderType.INFRASTRUCTURE and release.definitions:
        for file in release.templates:
            for item in file.of_kind("MachinePool", CORE_GROUP):
                yield item, release


def _without_crd(judged: tuple[Object, Release]) -> Iterator[Finding]:
    value, release = judged
    kind = str(value.at(f"{_PATH}.kind") or "")
    group = value.at(f"{_PATH}.apiGroup")
    group = group or split_api_version(str(value.at(f"{_PATH}.apiVersion") or ""))[0]
    kinds = {definition.kind for definition in release.definitions if definition.group == group}
    if kinds and kind not in kinds:
        yield fault(value, _PATH, f"no CRD has the kind {kind}", f"add the kind {kind}")


DEFINITION: Final = Check(_pools, _without_crd, "no cluster template has a MachinePool")
