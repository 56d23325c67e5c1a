"""Errors of the selectors of patches: the class must have each template that a patch selects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_patches import PatchSelector
from kapy.api.cluster_class_template import ClusterClassTemplateReference
from kapy.api.cluster_class_workers import MachineDeploymentClass, MachinePoolClass
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.model import Model, encode
from kapy.kube.qualified_names import qualified_name_errors

_ENABLED: Final = "selector is enabled but"


def selector_errors(selector: PatchSelector, new: ClusterClass, path: str) -> Iterator[FieldError]:
    """Return the errors of the selector of a patch."""
    matches, spec = selector.match_resources, new.spec
    deployments = matches.machine_deployment_class
    pools = matches.machine_pool_class
    deployment_names = deployments.names if deployments is not None else []
    pool_names = pools.names if pools is not None else []
    if not (
        matches.infrastructure_cluster or matches.control_plane or deployment_names or pool_names
    ):
        yield invalid(path, format_part(selector), "no selector enabled")
        return
    where = f"{path}.matchResources"
    if matches.infrastructure_cluster and not _is_meant(selector, spec.infrastructure.template_ref):
        problem = f"{_ENABLED} does not match the infrastructure ref"
        yield invalid(f"{where}.infrastructureCluster", matches.infrastructure_cluster, problem)
    if matches.control_plane and not _is_of_control_plane(selector, new):
        problem = (
            f"{_ENABLED} matches neither the controlPlane ref nor the controlPlane "
            "machineInfrastructure ref"
        )
        yield invalid(f"{where}.controlPlane", matches.control_plane, problem)
    workers = spec.workers
    yield from _worker_errors(
        selector, deployment_names, workers.machine_deployments, f"{where}.machineDeploymentClass"
    )
    yield from _worker_errors(
        selector, pool_names, workers.machine_pools, f"{where}.machinePoolClass"
    )


def format_part(part: Model) -> str:
    """Format a part of a patch for an error."""
    return json.dumps(encode(part), indent=2, ensure_ascii=False)


def _is_meant(selector: PatchSelector, ref: ClusterClassTemplateReference) -> bool:
    return (selector.kind, selector.api_version) == (ref.kind, ref.api_version)


def _is_of_control_plane(selector: PatchSelector, new: ClusterClass) -> bool:
    control_plane = new.spec.control_plane
    machines = control_plane.machine_infrastructure
    return _is_meant(selector, control_plane.template_ref) or (
        machines is not None and _is_meant(selector, machines.template_ref)
    )


def _worker_errors(
    selector: PatchSelector,
    names: Sequence[str],
    classes: Sequence[MachineDeploymentClass] | Sequence[MachinePoolClass],
    path: str,
) -> Iterator[FieldError]:
    kind = "MachineDeployment" if path.endswith("DeploymentClass") else "MachinePool"
    for number, name in enumerate(names):
        where = f"{path}.names[{number}]"
        if problem := _pattern_problem(name):
            yield invalid(where, name, problem)
            return
        if not any(
            is_class_named(cluster_class.class_, name)
            and (
                _is_meant(selector, cluster_class.infrastructure.template_ref)
                or _is_meant(selector, cluster_class.bootstrap.template_ref)
            )
            for cluster_class in classes
        ):
            problem = (
                f"{_ENABLED} matches neither the bootstrap ref nor the infrastructure ref of a "
                f"{kind} class"
            )
            yield invalid(where, name, problem)


def is_class_named(class_: str, name: str) -> bool:
    """Report whether a name in a selector, which may begin or end with `*`, matches a class."""
    return (
        name in (class_, "*")
        or (name.startswith("*") and class_.endswith(name.removeprefix("*")))
        or (name.endswith("*") and class_.startswith(name.removesuffix("*")))
    )


def _pattern_problem(name: str) -> str:
    if "*" not in name:
        return ""
    if name.count("*") > 1:
        return 'selector can at most contain a single "*" rune'
    if not (name.startswith("*") or name.endswith("*")):
        return '"*" rune can only appear at the beginning, or ending of the selector'
    if qualified_name_errors(name.replace("*", "a")):
        return "selector does not comply with the Kubernetes naming standards"
    return ""
