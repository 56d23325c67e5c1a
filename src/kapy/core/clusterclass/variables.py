"""Phase: collect the variable definitions of a ClusterClass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_variables import ClusterClassVariable
from kapy.api.validation.cluster_class_variables import variable_errors
from kapy.core.clusterclass.scope import ClassScope
from kapy.engine.result import DONE, Result
from kapy.kube.errors import KapyError
from kapy.kube.field_errors import aggregate
from kapy.topology.discovery import VariableDiscovery, status_variables


class DiscoveryFailed(KapyError):
    """An extension did not return its variables, or returned invalid ones."""


async def reconcile_variables(scope: ClassScope) -> Result:
    """Collect the definitions; the former ones stay if some are unknown."""
    cluster_class = scope.cluster_class
    try:
        discovered = await _discover(scope.dependencies.discovery, cluster_class)
        variables = status_variables(cluster_class.spec.variables, discovered)
        cluster_class.status.variables = variables
        if conflicts := [
            status_variable.name
            for status_variable in variables
            if status_variable.definitions_conflict
        ]:
            names = ",".join(conflicts)
            raise DiscoveryFailed(f"the following variables have conflicting schemas: {names}")
    except KapyError as error:
        scope.undiscovered = DiscoveryFailed(f"VariableDiscovery failed: {error}")
        raise DiscoveryFailed(
            f"failed to discover variables for ClusterClass {cluster_class.metadata.name}: {error}"
        ) from error
    return DONE


async def _discover(
    discovery: VariableDiscovery | None, cluster_class: ClusterClass
) -> Mapping[str, Sequence[ClusterClassVariable]]:
    """Return the variables of extensions, by the name of their patch. Raises DiscoveryFailed."""
    if discovery is None:
        return {}
    result: dict[str, Sequence[ClusterClassVariable]] = {}
    problems = []
    for patch in cluster_class.spec.patches:
        external = patch.external
        if external is None or not external.discover_variables_extension:
            continue
        try:
            variables = await discovery.discover_variables(cluster_class, external)
        except KapyError as error:
            problems.append(f"failed to call DiscoverVariables for patch {patch.name}: {error}")
            continue
        if errors := list(variable_errors(variables, f"{patch.name}.variables")):
            problems.append(aggregate(errors))
        result[patch.name] = variables
    if problems:
        raise DiscoveryFailed(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return result
