"""Checks of cluster templates, and of the MachinePools in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.clusterctl.provider import ProviderType
from kapy.kube.names import split_api_version
from kapy.testing.conformance.checks.check import Check, fault
from kapy.testing.conformance.files import File, Object
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.release import CORE_GROUP, Release

_NONE: Final = "there are no cluster templates"
_CLUSTER: Final = "Cluster"
_NAME: Final = "CLUSTER_NAME"

_PATH: Final = "spec.template.spec.infrastructureRef"


def _templates(release: Release) -> list[File]:
    return release.templates


def _with_clusters(release: Release) -> list[tuple[File, bool]]:
    if not release.is_repository:
        return []
    named = [
        (template, True) for template in release.templates if template.of_kind(_CLUSTER, CORE_GROUP)
    ]
    # Without variables it is an example, and no template.
    others = [(file, False) for file in release.misnamed(_CLUSTER) if file.variables]
    return [*named, *others]


def _misnamed_findings(judged: tuple[File, bool]) -> Iterator[Finding]:
    file, named = judged
    if not named:
        cluster = file.of_kind(_CLUSTER, CORE_GROUP)[0]
        remedy = "call the file cluster-template-<flavor>.yaml"
        yield fault(cluster, "", "a Cluster, in a file that is not called as templates are", remedy)


NAMES: Final = Check(
    _with_clusters, _misnamed_findings, "it is no release with Clusters in its files"
)


def namespaces_in(file: File) -> Iterator[Finding]:
    """Return the namespaces that objects of a file name: they should be left to the user."""
    for obj in file.objects:
        if obj.kind == "Namespace" and not obj.group:
            yield fault(obj, "", "a Namespace", "drop it: the namespace is taken to be there")


NAMESPACE: Final = Check(_templates, namespaces_in, _NONE)


def _several(file: File) -> Iterator[Finding]:
    first: Object | None = None
    for obj in file.objects:
        if obj.kind == "Namespace" or not obj.namespace:
            continue
        if first is not None and obj.namespace != first.namespace:
            yield fault(
                obj,
                "metadata.namespace",
                f"{obj.namespace}, where {first.called} is in {first.namespace}",
                "leave the namespace out, or write ${NAMESPACE} everywhere",
            )
        first = first or obj


ONE_NAMESPACE: Final = Check(_templates, _several, _NONE)


def _of_clusters(release: Release) -> list[Object]:
    return [
        item for template in release.templates for item in template.of_kind(_CLUSTER, CORE_GROUP)
    ]


def _another_name(value: Object) -> Iterator[Finding]:
    if f"${{{_NAME}" not in value.name.replace(" ", ""):
        remedy = f"name it after ${{{_NAME}}}, which `generate cluster` sets"
        yield fault(value, "metadata.name", f"is {value.name}", remedy)


COMMON_VARIABLES: Final = Check(_of_clusters, _another_name, "no cluster template has a Cluster")


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


POOL_KINDS: Final = Check(_pools, _without_crd, "no cluster template has a MachinePool")
