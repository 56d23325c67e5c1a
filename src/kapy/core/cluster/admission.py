"""Checks of a Cluster's topology that read other objects: its ClusterClass and, on an upgrade, the
objects that are still being upgraded.
"""

from __future__ import annotations

from typing import NamedTuple

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.names import Annotation
from kapy.api.validation.class_use import class_key, class_use_errors
from kapy.api.validation.cluster import (
    CLASS,
    UNCHECKED,
    changes_version,
    new_topology_errors,
    version_change_errors,
)
from kapy.api.validation.cluster_class import compatibility_errors
from kapy.client.client import Client
from kapy.core.cluster.upgrade import pending_upgrades
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, NotFound
from kapy.kube.field_errors import FieldError, forbidden
from kapy.kube.nested import value_at
from kapy.topology.cluster_variables import InvalidTopologyShape, is_reconciled, with_variables


class Findings(NamedTuple):
    """The errors and warnings that the check of a Cluster's topology has found."""

    errors: list[FieldError]
    warnings: list[str]


async def topology_defaults(
    client: Client, new: Document, old: Document | None
) -> tuple[Document, list[FieldError]]:
    """Return a Cluster with default values of its class's variables, and the errors in its
    variables. A Cluster that the schema will refuse is unchanged, as is one whose class does not
    exist or is not reconciled.
    """
    ref = value_at(new, ("spec", "topology", "classRef"))
    if not isinstance(ref, dict) or not isinstance(ref.get("name"), str):
        return new, []
    key = Key(ref.get("namespace") or new["metadata"].get("namespace", ""), ref["name"])
    try:
        cluster_class = await client.get(ClusterClass, key)
    except NotFound:
        return new, []
    if not is_reconciled(cluster_class):
        return new, []
    try:
        return with_variables(new, old, cluster_class)
    except InvalidTopologyShape:
        return new, []


async def topology_findings(client: Client, new: Cluster, old: Cluster | None) -> Findings:
    """Check a Cluster with a topology against its class and its existing objects."""
    topology, key, findings = new.spec.topology, class_key(new), Findings([], [])
    if topology is None or key is None:
        return findings
    cluster_class = await _class_of(client, key, findings.warnings)
    if cluster_class is not None:
        findings.errors.extend(class_use_errors(new, topology, cluster_class))
    if old is None:
        return findings
    if cluster_class is None:
        problem = f"ClusterClass {key} not found"
        findings.errors.append(FieldError("InternalError", CLASS, problem))
    elif old.spec.topology is None:
        findings.errors.extend(new_topology_errors(new))
    else:
        findings.errors.extend(await _change_errors(client, new, old, cluster_class))
        if Annotation.UNSAFE_UPDATE_VERSION in new.metadata.annotations:
            findings.warnings.append(UNCHECKED)
    return findings


async def _change_errors(
    client: Client, new: Cluster, old: Cluster, cluster_class: ClusterClass
) -> list[FieldError]:
    before, after = old.spec.topology, new.spec.topology
    assert before is not None
    assert after is not None
    spec = cluster_class.spec
    busy = (
        await pending_upgrades(client, old, before.version)
        if changes_version(before, after)
        else []
    )
    errors = version_change_errors(
        new,
        before,
        after,
        ceiling=not (
            spec.kubernetes_versions or spec.upgrade.external.generate_upgrade_plan_extension
        ),
        unsettled=busy,
    )
    was, is_ = class_key(old), class_key(new)
    if was is None or was == is_:
        return errors
    try:
        former = await client.get(ClusterClass, was)
    except ApiError as error:
        problem = (
            f'valid ClusterClass with name "{was}" could not be retrieved, change from class '
            f'"{was}" to class "{is_}" cannot be validated. Error: {error}'
        )
        return [*errors, forbidden(CLASS, problem)]
    return [*errors, *compatibility_errors(former, cluster_class)]


async def _class_of(client: Client, key: Key, warnings: list[str]) -> ClusterClass | None:
    """Return the class if it exists; add a warning if it does not exist or is not reconciled."""
    refers = f"Cluster refers to ClusterClass {key}, but this ClusterClass"
    partly = "Cluster topology has not been fully validated."
    try:
        cluster_class = await client.get(ClusterClass, key)
    except NotFound:
        warnings.append(
            f"{refers} does not exist. {partly} "
            "The ClusterClass must be created to reconcile the Cluster"
        )
        return None
    if not is_reconciled(cluster_class):
        warnings.append(
            f"{refers} hasn't been successfully reconciled. {partly} "
            "Please take a look at the ClusterClass status"
        )
    return cluster_class
