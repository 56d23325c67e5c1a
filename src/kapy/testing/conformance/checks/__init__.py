"""The static checks, keyed by the rules that they check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Field, FieldRule, Types, Version, View, fields_of
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.testing.conformance.checks import (
    classes,
    components,
    definitions,
    own_objects,
    repository,
    schemas,
    templates,
)
from kapy.testing.conformance.checks.check import Check
from kapy.testing.conformance.checks.rights import CLAIM_RIGHTS, TAKER_RIGHTS, rights
from kapy.testing.conformance.checks.schemas import Shape, fields, one_of, same
from kapy.testing.conformance.definitions import ROLES, Role

__all__ = ["CHECKS", "Check"]

_CLUSTER, _MACHINE, _POOL, _BOOTSTRAP, _CONTROL_PLANE, _IPAM = ROLES

_CONDITIONS: Final = same(
    {
        "status.conditions": "array",
        "status.conditions.[].type": "string",
        "status.conditions.[].status": "string",
    }
)


def _all_resources(role: Role) -> Iterator[tuple[str, Check[Any]]]:
    """Yield the checks of every role that core reads."""
    mains, of_templates = definitions.mains_of(role), definitions.templates_of(role)
    yield "scope", definitions.scope(role)
    yield "metadata", schemas.metadata(definitions.all_of(role))
    yield "rights", rights(role)
    yield "contract-label", definitions.contract_label(role)
    yield "label-versions", definitions.label_versions(role)
    yield "metadata-contract", repository.contract(role)
    yield "definition", definitions.presence(role)
    yield "crd-name", definitions.name(role)
    yield "list", definitions.list_kind(mains)
    yield "conditions", fields(mains, _CONDITIONS)
    yield "template", definitions.template(role)
    yield "template-name", definitions.template_name(role)
    nothing = "there is no CRD of a template"
    yield "status-subresource", definitions.status(mains)
    yield "template-spec", fields(of_templates, same({"spec.template.spec": "object"}))
    yield "template-list", definitions.list_kind(of_templates, nothing)


def _declared_checks(role: Role, view: type[View]) -> Iterator[tuple[str, Check[Any]]]:
    """Yield the checks of the rules that the fields of a contract declare."""
    kinds = definitions.mains_of(role)
    by_rule: dict[FieldRule, list[Field[Any]]] = {}
    for field in fields_of(view).values():
        if field.rule is not None:
            by_rule.setdefault(field.rule, []).append(field)
    for rule, result in by_rule.items():
        new, old = (_types(result, version) for version in (Version.V1BETA2, Version.V1BETA1))
        shown = (rule.shown,) if rule.shown else ()
        if rule.any_of:
            yield rule.name, one_of(kinds, shown, {**new, **old})
        else:
            yield rule.name, fields(kinds, Shape(new, old, shown))


def _types(values: Sequence[Field[Any]], version: Version) -> Types:
    return {path: value for field in values for path, value in field.types(version).items()}


def _infra_cluster() -> Iterator[tuple[str, Check[Any]]]:
    yield from _declared_checks(_CLUSTER, InfraCluster)
    yield "template", classes.template_of_class(_CLUSTER)


def _infra_machine() -> Iterator[tuple[str, Check[Any]]]:
    yield from _declared_checks(_MACHINE, InfraMachine)
    yield "autoscaling", schemas.optional(definitions.templates_of(_MACHINE), _FROM_ZERO)


_FROM_ZERO: Final = {
    "status.capacity": "object",
    "status.nodeInfo": "object",
    "status.nodeInfo.architecture": "string",
    "status.nodeInfo.operatingSystem": "string",
}


def _infra_machine_pool() -> Iterator[tuple[str, Check[Any]]]:
    kinds = definitions.mains_of(_POOL)
    yield from _declared_checks(_POOL, InfraMachinePool)
    # Core reads none of these.
    for rule, path, kind in (
        ("instances-status", "status.instances", "array"),
        ("provider-id", "spec.providerID", "string"),
    ):
        yield rule, fields(kinds, same({path: kind}, path))
    yield "definition", templates.POOL_KINDS
    yield "template", classes.template_of_class(_POOL)


def _control_plane() -> Iterator[tuple[str, Check[Any]]]:
    kinds = definitions.mains_of(_CONTROL_PLANE)
    yield from _declared_checks(_CONTROL_PLANE, ControlPlane)
    yield "scale", schemas.scale(kinds, ControlPlane.replicas.path())
    # In objects of the v1beta1 contract core does not read it.
    after = ("spec.rollout.after", "spec.rolloutAfter")
    yield "rollout-after", fields(kinds, Shape({after[0]: "string"}, {after[1]: "string"}, after))
    yield "template", classes.template_of_class(_CONTROL_PLANE)


_CLUSTERCTL: Final[dict[str, Check[Any]]] = {
    "repository": repository.REPOSITORY,
    "templates": repository.TEMPLATES,
    "version-folder": repository.VERSION_FOLDER,
    "metadata-version": repository.METADATA_VERSION,
    "metadata-kind": repository.METADATA_KIND,
    "release-series": repository.RELEASE_SERIES,
    "release-in-series": repository.RELEASE_IN_SERIES,
    "components-name": components.COMPONENTS_NAME,
    "namespace": components.NAMESPACE,
    "one-namespace": components.ONE_NAMESPACE,
    "in-namespace": components.IN_NAMESPACE,
    "manager": components.MANAGED,
    "images": components.IMAGES,
    "labels": components.LABELS,
    "variables": components.VARIABLES,
    "variable-names": components.VARIABLE_NAMES,
    "template-names": templates.NAMES,
    "template-namespace": templates.NAMESPACE,
    "template-one-namespace": templates.ONE_NAMESPACE,
    "common-variables": templates.COMMON_VARIABLES,
    "class-names": classes.NAMES,
    "class-namespace": classes.NAMESPACE,
    "class-references": classes.REFERENCES,
    "class-objects": classes.OBJECTS,
    "class-sharing": classes.SHARING,
    "class-variables": classes.VARIABLES,
    "own-kinds": own_objects.KINDS,
    "own-fields": own_objects.FIELDS,
}


def _ipam() -> Iterator[tuple[str, Check[Any]]]:
    kinds = definitions.mains_of(_IPAM)
    yield "pool", definitions.presence(_IPAM)
    yield "crd-name", definitions.name(_IPAM)
    yield "metadata", schemas.metadata(kinds)
    yield "conditions", schemas.stored_fields(kinds, _CONDITIONS.v1beta2)
    yield "status-subresource", definitions.status(kinds)
    yield "move-label", definitions.check_moved(_IPAM)
    yield "rights", CLAIM_RIGHTS
    yield "taker-rights", TAKER_RIGHTS


def _checks() -> dict[str, Check[Any]]:
    result = {f"clusterctl/{name}": check for name, check in _CLUSTERCTL.items()}
    for role in (_CLUSTER, _MACHINE, _POOL, _BOOTSTRAP, _CONTROL_PLANE):
        result |= {f"{role.document}/{name}": check for name, check in _all_resources(role)}
    for role, more in (
        (_CLUSTER, _infra_cluster()),
        (_MACHINE, _infra_machine()),
        (_POOL, _infra_machine_pool()),
        (_BOOTSTRAP, _declared_checks(_BOOTSTRAP, BootstrapConfig)),
        (_CONTROL_PLANE, _control_plane()),
        (_IPAM, _ipam()),
    ):
        result |= {f"{role.document}/{name}": check for name, check in more}
    return result


CHECKS: Final = _checks()
