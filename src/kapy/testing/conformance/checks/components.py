"""Checks of the components file, which clusterctl installs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from kapy.clusterctl.components import PROVIDER_LABEL
from kapy.clusterctl.components.images import MANAGER
from kapy.testing.conformance.checks.check import Check, fault
from kapy.testing.conformance.files import File, Object
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.release import Release

_NONE: Final = "there is no components file"
_CLUSTER_WIDE: Final = frozenset(
    {
        "APIService",
        "ClusterIssuer",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "Namespace",
        "PriorityClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    }
)
_WITH_PODS: Final = ("Deployment", "DaemonSet", "StatefulSet")
_SHARED: Final = re.compile(r"CAP[A-Z0-9]{1,5}_|EXP_|CLUSTER_TOPOLOGY$")
"""Variables that Cluster API's own components share with all providers (feature gates,
diagnostics), and those that begin with what a provider is called for short, as CAPD_."""
_WITH_REGISTRY: Final = re.compile(r"(localhost|[^/]*[.:][^/]*)/.+")


def components(release: Release) -> list[File]:
    """Return the components files."""
    return release.components


def _of_known_type(release: Release) -> list[tuple[str, list[str]]]:
    names = [component.name for component in release.whole_components]
    return [(release.type.components_file, names)] if names and release.type else []


def _misnamed_findings(judged: tuple[str, list[str]]) -> Iterator[Finding]:
    expected, names = judged
    if expected not in names:
        yield Finding(names[0], "", "", f"is not called {expected}", f"publish it as {expected}")


COMPONENTS_NAME: Final = Check(
    _of_known_type,
    _misnamed_findings,
    "there is no components file of a provider whose type is known",
)


def _namespaces(file: File) -> list[Object]:
    return [obj for obj in file.objects if obj.kind == "Namespace"]


def _whole(release: Release) -> list[File]:
    return release.whole_components


def _no_namespace(file: File) -> Iterator[Finding]:
    if not _namespaces(file):
        remedy = "add one, or users have to say --target-namespace"
        yield Finding(file.name, "", "", "has no Namespace", remedy)


NAMESPACE: Final = Check(_whole, _no_namespace, _NONE)


def _many_namespaces(file: File) -> Iterator[Finding]:
    result = _namespaces(file)
    if len(result) > 1:
        names = ", ".join(item.name for item in result)
        remedy = "keep one of them; clusterctl refuses to install the file"
        yield Finding(file.name, "", "", f"has {len(result)} Namespaces: {names}", remedy)


ONE_NAMESPACE: Final = Check(components, _many_namespaces, _NONE)


def _with_namespace(release: Release) -> list[File]:
    return [component for component in release.components if len(_namespaces(component)) == 1]


def _elsewhere(file: File) -> Iterator[Finding]:
    target = _namespaces(file)[0].name
    for obj in file.objects:
        if obj.kind not in _CLUSTER_WIDE and obj.namespace not in ("", target):
            yield fault(
                obj,
                "metadata.namespace",
                f"{obj.namespace}, where the Namespace of the file is {target}",
                f"set it to {target}; clusterctl moves the object there",
            )


IN_NAMESPACE: Final = Check(
    _with_namespace, _elsewhere, "there is no components file with one Namespace"
)


def _no_manager(release: Release) -> Iterator[Finding]:
    deployments = [item for item in release.installed if item.kind == "Deployment"]
    names = [
        str(container.get("name"))
        for deployment in deployments
        for container in _containers(deployment)
    ]
    if MANAGER not in names:
        text = f"Deployments have the containers {', '.join(names)}"
        yield Finding(
            release.whole_components[0].name,
            deployments[0].called if deployments else "",
            "spec.template.spec.containers" if deployments else "",
            text if deployments else "has no Deployment",
            f"run the controllers in a Deployment, in a container that is called {MANAGER}",
        )


def _with_whole(release: Release) -> list[Release]:
    return [release] if release.whole_components else []


MANAGED: Final = Check(_with_whole, _no_manager, _NONE)


def _containers(value: Object) -> list[dict[str, Any]]:
    pod = "spec.template.spec"
    return value.items(f"{pod}.containers") + value.items(f"{pod}.initContainers")


def _short_images(file: File) -> Iterator[Finding]:
    for obj in file.objects:
        for container in _containers(obj) if obj.kind in _WITH_PODS else ():
            image = str(container.get("image") or "")
            if image and "${" not in image and not _WITH_REGISTRY.match(image):
                yield fault(
                    obj,
                    f"spec.template.spec.containers[{container.get('name')}].image",
                    f"{image} does not say of which registry it is",
                    "write the registry before it, as docker.io/library/…",
                )


IMAGES: Final = Check(components, _short_images, _NONE)


def _unlabelled_findings(release: Release) -> Iterator[Finding]:
    for file in release.whole_components:
        wrong = [obj for obj in file.objects if not _is_labelled(obj, release.label)]
        if wrong:
            text = f"{len(wrong)} of {len(file.objects)} objects have another label, or none"
            names = ", ".join(item.called for item in wrong[:3])
            yield Finding(
                file.name,
                f"{names}{' …' if len(wrong) > 3 else ''}",
                f"metadata.labels[{PROVIDER_LABEL}]",
                text,
                f"set it to {release.label or 'the name of the provider'} on all objects",
            )


def _is_labelled(value: Object, label: str) -> bool:
    return bool(label) and value.labels.get(PROVIDER_LABEL) == label


LABELS: Final = Check(_with_whole, _unlabelled_findings, _NONE)


def _with_variables(release: Release) -> list[tuple[File, str]]:
    if release.type is None or not release.label:
        return []
    name = release.label.removeprefix(f"{release.type.word}-")
    return [(component, name) for component in release.components if component.variables]


def _foreign_variables(judged: tuple[File, str]) -> Iterator[Finding]:
    file, provider = judged
    prefix = provider.upper().replace("-", "_")
    for variable in file.variables:
        if not (variable.upper().startswith(prefix) or _SHARED.match(variable)):
            evidence = f"does not begin with the name of the provider, {provider}"
            remedy = f"call it {prefix}_{variable}: users have one configuration for all providers"
            yield Finding(file.name, "", f"${{{variable}}}", evidence, remedy)


VARIABLE_NAMES: Final = Check(
    _with_variables, _foreign_variables, "there are no variables in a components file"
)


def _all_files(release: Release) -> list[File]:
    return list(release.files)


def _bad_variables(file: File) -> Iterator[Finding]:
    if file.bad_variable:
        remedy = "write variables as ${NAME} or ${NAME:=default}"
        yield Finding(file.name, "", "", file.bad_variable, remedy)


VARIABLES: Final = Check(_all_files, _bad_variables, "there are no files")
