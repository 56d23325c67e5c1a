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
            for one in file.of_kind("MachinePool", CORE_GROUP):
                yield one, release


def _without_crd(judged: tuple[Object, Release]) -> Iterator[Finding]:
    one, release = judged
    kind = str(one.at(f"{_PATH}.kind") or "")
    group = one.at(f"{_PATH}.apiGroup")
    group = group or split_api_version(str(one.at(f"{_PATH}.apiVersion") or ""))[0]
    kinds = {each.kind for each in release.definitions if each.group == group}
    if kinds and kind not in kinds:
        yield fault(one, _PATH, f"no CRD has the kind {kind}", f"add the kind {kind}")


DEFINITION: Final = Check(_pools, _without_crd, "no cluster template has a MachinePool")
