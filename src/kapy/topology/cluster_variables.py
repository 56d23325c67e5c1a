"""Default and validate the variables of a Cluster's topology before any other check.

Both happen during defaulting, as in upstream, so that both use the same version of the class. The
functions work on documents; values of a wrong type are left to the schema validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kapy.api.cluster_class import ClusterClass
from kapy.api.embedded import ClusterVariable
from kapy.api.names import ConditionType
from kapy.conditions.lookup import has, is_false
from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.nested import value_at
from kapy.kube.patch.merge_patch import is_equal_json
from kapy.kube.regexp import allowance
from kapy.topology.variables import default_variables, variable_value_errors

_TOPOLOGY = ("spec", "topology")
_OVERRIDES = ("variables", "overrides")


class InvalidTopologyShape(Exception):
    """The topology does not have the shape of a Cluster's topology; schema validation reports
    where."""


class _Place(NamedTuple):
    """A list of variables in a topology.

    parts: its location in the topology. path: its path in error messages. whole: the variables
    apply to the whole cluster, not to one part.
    """

    parts: tuple[str | int, ...]
    path: str
    whole: bool
    old: tuple[str | int, ...] | None


def is_reconciled(cluster_class: ClusterClass) -> bool:
    """Return whether the status of the class, including its variables, matches its current
    generation.
    """
    status, conditions = cluster_class.status, cluster_class.status.conditions
    ready = ConditionType.VARIABLES_READY
    if status.observed_generation != cluster_class.metadata.generation:
        return False
    return has(conditions, ready) and not is_false(conditions, ready)


def with_variables(
    cluster: Document, old: Document | None, cluster_class: ClusterClass
) -> tuple[Document, list[FieldError]]:
    """Return the Cluster with defaulted variables (the same object if nothing changes), and the
    errors in its variables. Raises InvalidTopologyShape.
    """
    with allowance():
        return _with_variables(cluster, old, cluster_class)


def _with_variables(
    cluster: Document, old: Document | None, cluster_class: ClusterClass
) -> tuple[Document, list[FieldError]]:
    topology = value_at(cluster, _TOPOLOGY)
    before = value_at(old, _TOPOLOGY) or {}
    errors: list[FieldError] = []
    definitions = cluster_class.status.variables
    places = list(_places(topology, before))
    for place in places:
        values, path = _values(topology, place.parts), place.path
        result, problems = default_variables(values, definitions, path, create=place.whole)
        errors += problems
        value = [{"name": variable.name, "value": variable.value} for variable in result]
        if value and not is_equal_json(value, _value_at(topology, place.parts)):
            topology = _with_value(topology, place.parts, value)
    for place in places:
        was = _values(before, place.old) if place.old is not None else []
        values = _values(topology, place.parts)
        errors += variable_value_errors(values, was, definitions, place.path, complete=place.whole)
    if topology is value_at(cluster, _TOPOLOGY):
        return cluster, errors
    return {**cluster, "spec": {**cluster["spec"], "topology": topology}}, errors


def _places(topology: Document, before: Document) -> Iterator[_Place]:
    path = ".".join(_TOPOLOGY)
    yield _Place(("variables",), f"{path}.variables", whole=True, old=("variables",))
    control_plane = ("controlPlane", *_OVERRIDES)
    if _members(topology, control_plane):
        where = f"{path}.{'.'.join(control_plane)}"
        yield _Place(control_plane, where, whole=False, old=control_plane)
    for kind in ("machineDeployments", "machinePools"):
        workers = ("workers", kind)
        numbers = {item.get("name"): at for at, item in enumerate(_members(before, workers))}
        for number, member in enumerate(_members(topology, workers)):
            parts = (*workers, number, *_OVERRIDES)
            if _members(topology, parts):
                name = member.get("name", "")
                old = (*workers, numbers[name], *_OVERRIDES) if name in numbers else None
                where = f"{path}.workers.{kind}[{name}].variables.overrides"
                yield _Place(parts, where, whole=False, old=old)


def _values(topology: Document, parts: Sequence[str | int]) -> list[ClusterVariable]:
    result = _members(topology, parts)
    if not all(isinstance(item.get("name", ""), str) for item in result):
        raise InvalidTopologyShape
    return [ClusterVariable(name=item.get("name", ""), value=item.get("value")) for item in result]


def _members(node: Any, parts: Sequence[str | int]) -> list[Document]:
    """Return the objects in a list at a location. A null item counts as an empty object, as
    in Go.
    """
    result = _value_at(node, parts)
    if result is None:
        return []
    if not isinstance(result, list) or not all(isinstance(item or {}, dict) for item in result):
        raise InvalidTopologyShape
    return [item or {} for item in result]


def _value_at(node: Any, parts: Sequence[str | int]) -> Any:
    for part in parts:
        if node is None:
            return None
        if isinstance(part, str) and isinstance(node, dict):
            node = node.get(part)
        elif isinstance(part, int) and isinstance(node, list):
            node = node[part]
        else:
            raise InvalidTopologyShape
    return node


def _with_value(node: Any, parts: Sequence[str | int], value: Any) -> Any:
    """Return a copy of a document with a value set at a location."""
    if not parts:
        return value
    first, *rest = parts
    if isinstance(first, int):
        return [
            _with_value(item, rest, value) if at == first else item for at, item in enumerate(node)
        ]
    node = node or {}
    return {**node, first: _with_value(node.get(first), rest, value)}
