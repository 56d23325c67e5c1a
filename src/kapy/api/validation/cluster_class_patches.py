"""Validation of the patches of a ClusterClass, and of their selectors."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from msgspec import UNSET

from kapy.api.builtin_variables import BUILTIN_VARIABLES
from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_patches import (
    ClusterClassPatch,
    ExternalPatchDefinition,
    JSONPatch,
    JSONPatchValue,
    PatchDefinition,
    PatchSelector,
)
from kapy.api.cluster_class_template import ClusterClassTemplateReference
from kapy.api.cluster_class_workers import MachineDeploymentClass, MachinePoolClass
from kapy.api.features import FeatureGates
from kapy.kube.digits import parse_integer
from kapy.kube.field_errors import (
    FieldError,
    FixedText,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kapy.kube.gotemplate import BadTemplate, parse
from kapy.kube.model import Model, encode
from kapy.kube.qualified_names import qualified_name_errors
from kapy.kube.regexp import cost

INLINE: Final = "inline"
"""The source of variables that the ClusterClass itself defines; no patch may have this name."""

_OPERATIONS: Final = ["add", "remove", "replace"]
_ACTION: Final = 50_000
"""The maximum nanoseconds for parsing one action of a template."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_VARIABLE_NAME: Final = re.compile(r"[^.\[]+")

_ENABLED: Final = "selector is enabled but"


def patch_errors(new: ClusterClass, gates: FeatureGates) -> Iterator[FieldError]:
    """Return the errors of `spec.patches`."""
    names: set[str] = set()
    for number, patch in enumerate(new.spec.patches):
        path = f"spec.patches[{number}]"
        yield from _name_errors(patch.name, names, f"{path}.name")
        yield from _patch_errors(patch, new, path, gates)
        names.add(patch.name)


def _name_errors(name: str, others: Collection[str], where: str) -> Iterator[FieldError]:
    if not name:
        yield required(where, "patch name must be defined")
    if name == INLINE:
        yield required(where, f'"{INLINE}" can not be used as the name of a patch')
    if name in others:
        problem = f'patch names must be unique. Patch with name "{name}" is defined more than once'
        yield invalid(where, name, problem)


def _patch_errors(
    patch: ClusterClassPatch, new: ClusterClass, path: str, gates: FeatureGates
) -> Iterator[FieldError]:
    if patch.enabled_if:
        yield from _template_errors(patch.enabled_if, "enabledIf", f"{path}.enabledIf")
    if not patch.definitions and patch.external is None:
        yield required(path, "one of definitions or external must be defined")
    if patch.definitions and patch.external is not None:
        fixed_text = FixedText.of(encode(patch))
        yield invalid(path, fixed_text, "only one of definitions or external can be defined")
    variables = {variable.name for variable in new.spec.variables}
    for number, definition in enumerate(patch.definitions):
        where = f"{path}.definitions[{number}]"
        yield from _definition_errors(definition, variables, f"{where}.jsonPatches")
        yield from _selector_errors(definition.selector, new, f"{where}.selector")
    if patch.external is not None:
        yield from _external_errors(patch.external, f"{path}.external", gates)


def _external_errors(
    external: ExternalPatchDefinition, where: str, gates: FeatureGates
) -> Iterator[FieldError]:
    if not gates.runtime_sdk:
        problem = "patch.external can be used only if the RuntimeSDK feature flag is enabled"
        yield forbidden(where, problem)
    if not (external.validate_topology_extension or external.generate_patches_extension):
        problem = "one of validateTopologyExtension and generatePatchesExtension must be defined"
        yield invalid(where, FixedText.of(encode(external)), problem)


def _definition_errors(
    definition: PatchDefinition, variables: Collection[str], path: str
) -> Iterator[FieldError]:
    for number, change in enumerate(definition.json_patches):
        where = f"{path}[{number}]"
        if change.op not in _OPERATIONS:
            yield not_supported(f"{where}.op", _format_part(change), _OPERATIONS)
        if not change.path.startswith("/spec"):
            problem = 'jsonPatch path must start with "/spec"'
            yield invalid(f"{where}.path", _format_part(change), problem)
        yield from _index_errors(change, f"{where}.path")
        if change.op in ("add", "replace"):
            yield from _value_errors(change, where)
            if change.value_from is not None:
                yield from _source_errors(change.value_from, variables, f"{where}.valueFrom")


def _index_errors(change: JSONPatch, where: str) -> Iterator[FieldError]:
    """Allow list items to be added at both ends only: the positions of other items may change."""
    for part in change.path.split("/"):
        if not _INTEGER.fullmatch(part):
            continue
        if change.op == "add" and parse_integer(part):
            problem = 'arrays can only be accessed using "0" (prepend) or "-" (append)'
            yield invalid(where, change.path, problem)
        if change.op in ("replace", "remove"):
            problem = f"elements in arrays can not be accessed in a {change.op} operation"
            yield invalid(where, change.path, problem)


def _value_errors(change: JSONPatch, where: str) -> Iterator[FieldError]:
    result = change.value not in (None, UNSET)
    if not result and change.value_from is None:
        yield invalid(
            where, _format_part(change), "jsonPatch must define one of value or valueFrom"
        )
    if result and change.value_from is not None:
        yield invalid(
            where, _format_part(change), "jsonPatch can not define both value and valueFrom"
        )


def _source_errors(
    source: JSONPatchValue, variables: Collection[str], where: str
) -> Iterator[FieldError]:
    if not source.template and not source.variable:
        problem = "valueFrom must set either template or variable"
        yield invalid(where, _format_part(source), problem)
    if source.template and source.variable:
        problem = "valueFrom can not set both template and variable"
        yield invalid(where, _format_part(source), problem)
    if source.template:
        yield from _template_errors(source.template, "valueFrom.template", f"{where}.template")
    if source.variable:
        yield from _variable_errors(source.variable, variables, f"{where}.variable")


def _variable_errors(variable: str, variables: Collection[str], where: str) -> Iterator[FieldError]:
    """Check that the variable exists; the path below it is checked when the patch is applied."""
    if variable.startswith("builtin."):
        if variable not in BUILTIN_VARIABLES:
            yield invalid(where, variable, "not a defined builtin variable")
        return
    name = _VARIABLE_NAME.search(variable)
    if name is None or name[0] not in variables:
        yield invalid(where, variable, f"variable with name {variable} cannot be found")


def _template_errors(template: str, name: str, where: str) -> Iterator[FieldError]:
    try:
        cost.current().charge(_ACTION * template.count("{{"))
        parse(template, name=name, sprig=True)
    except BadTemplate as error:
        yield invalid(where, template, f"template can not be parsed: {error}")
    except cost.TooCostly:
        yield forbidden(where, "the templates of this class have too many actions together")


def _selector_errors(selector: PatchSelector, new: ClusterClass, path: str) -> Iterator[FieldError]:
    """Return the errors of the selector of a patch."""
    matches, spec = selector.match_resources, new.spec
    deployments = matches.machine_deployment_class
    pools = matches.machine_pool_class
    deployment_names = deployments.names if deployments is not None else []
    pool_names = pools.names if pools is not None else []
    if not (
        matches.infrastructure_cluster or matches.control_plane or deployment_names or pool_names
    ):
        yield invalid(path, _format_part(selector), "no selector enabled")
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


def _format_part(part: Model) -> str:
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
