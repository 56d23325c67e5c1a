"""The variables of a ClusterClass: its inline definitions and those of runtime extensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_patches import ExternalPatchDefinition
from kapy.api.cluster_class_variables import (
    ClusterClassStatusVariable,
    ClusterClassStatusVariableDefinition,
    ClusterClassVariable,
)
from kapy.api.validation.cluster_class_patches import INLINE
from kapy.kube.model import encode

_SAME_AS_ABSENT: Final = frozenset(
    {
        "uniqueItems",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-int-or-string",
    }
)


class VariableDiscovery(Protocol):
    """Calls the DiscoverVariables hook of runtime extensions."""

    async def discover_variables(
        self, cluster_class: ClusterClass, patch: ExternalPatchDefinition
    ) -> Sequence[ClusterClassVariable]:
        """Return the variables that an external patch defines. Raises KapyError."""
        ...


def status_variables(
    inline: Sequence[ClusterClassVariable],
    discovered: Mapping[str, Sequence[ClusterClassVariable]],
) -> list[ClusterClassStatusVariable]:
    """Return all variables by name, each with its definitions and whether these conflict.

    discovered: variables by patch name, in the order of the class.
    """
    result: dict[str, ClusterClassStatusVariable] = {}
    for origin, variables in ((INLINE, inline), *discovered.items()):
        for variable in variables:
            definition = ClusterClassStatusVariableDefinition(
                from_=origin,
                required=variable.required,
                deprecated_v1beta1_metadata=variable.deprecated_v1beta1_metadata,
                schema=variable.schema,
            )
            entry = result.get(variable.name)
            if entry is None:
                result[variable.name] = ClusterClassStatusVariable(
                    name=variable.name, definitions_conflict=False, definitions=[definition]
                )
                continue
            entry.definitions.append(definition)
            if _comparable(entry.definitions[0]) != _comparable(definition):
                entry.definitions_conflict = True
    return [result[name] for name in sorted(result)]


def _comparable(definition: ClusterClassStatusVariableDefinition) -> Any:
    """Return a definition in a comparable form, without its origin."""
    result = encode(definition)
    result.pop("from", None)
    return _without_false(result)


def _without_false(node: Any) -> Any:
    """Return a schema without switches that are false, because false and absent mean the same."""
    if isinstance(node, dict):
        return {
            key: _without_false(value)
            for key, value in node.items()
            if not (key in _SAME_AS_ABSENT and value is False)
        }
    return [_without_false(item) for item in node] if isinstance(node, list) else node
