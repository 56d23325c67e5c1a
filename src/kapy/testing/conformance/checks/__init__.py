"""The static checks, keyed by the rules that they check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.testing.conformance.checks import (
    classes,
    components,
    definitions,
    manager_rights,
    own_objects,
    pools,
    repository,
    schemas,
    subresources,
    templates,
)
from kapy.testing.conformance.checks.check import Check
from kapy.testing.conformance.checks.rights import rights
from kapy.testing.conformance.checks.schemas import Shape, Types, fields, one_of, same
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
_ENDPOINT: Final = same(
    {
        "spec.controlPlaneEndpoint.host": "string",
        "spec.controlPlaneEndpoint.port": "integer",
    },
    "spec.controlPlaneEndpoint",
)
_PROVISIONED: Final = Shape(
    {"status.initialization.provisioned": "boolean"}, {"status.ready": "boolean"}
)
_REPLICAS: Final = "spec.replicas"
_TIMEOUTS: Final = ("nodeDrainTimeout", "nodeVolumeDetachTimeout", "nodeDeletionTimeout")
_MACHINES: Final = "spec.machineTemplate"


def _counts(*names: str) -> Types:
    counts = {f"status.{one}": "integer" for one in ("replicas", "readyReplicas", *names)}
    return {_REPLICAS: "integer", "status.selector": "string", **counts}


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
    yield "status-subresource", subresources.status(mains)
    yield "template-spec", fields(of_templates, same({"spec.template.spec": "object"}))
    yield "template-list", definitions.list_kind(of_templates, nothing)


def _infra_cluster() -> Iterator[tuple[str, Check[Any]]]:
    kinds = definitions.mains_of(_CLUSTER)
    domains = "status.failureDomains"
    yield "endpoint", fields(kinds, _ENDPOINT)
    yield (
        "failure-domains",
        fields(
            kinds,
            Shape(
                {domains: "array", f"{domains}.[].name": "string"}, {domains: "object"}, (domains,)
            ),
        ),
    )
    yield "initialization", fields(kinds, _PROVISIONED)
    yield "template", classes.template_of_class(_CLUSTER)


def _infra_machine() -> Iterator[tuple[str, Check[Any]]]:
    kinds, addresses = definitions.mains_of(_MACHINE), "status.addresses"
    yield "provider-id", fields(kinds, same({"spec.providerID": "string"}))
    domain = "status.failureDomain"
    yield "failure-domain-status", fields(kinds, same({domain: "string"}, domain))
    parts = {addresses: "array", f"{addresses}.[].type": "string"}
    parts[f"{addresses}.[].address"] = "string"
    yield "addresses", fields(kinds, same(parts, addresses))
    yield "initialization", fields(kinds, _PROVISIONED)
    yield "autoscaling", schemas.optional(definitions.templates_of(_MACHINE), _FROM_ZERO)


_FROM_ZERO: Final = {
    "status.capacity": "object",
    "status.nodeInfo": "object",
    "status.nodeInfo.architecture": "string",
    "status.nodeInfo.operatingSystem": "string",
}


def _infra_machine_pool() -> Iterator[tuple[str, Check[Any]]]:
    kinds = definitions.mains_of(_POOL)
    for rule, path, kind in (
        ("instances-status", "status.instances", "array"),
        ("machine-kind", "status.infrastructureMachineKind", "string"),
        ("provider-id", "spec.providerID", "string"),
    ):
        yield rule, fields(kinds, same({path: kind}, path))
    ids = "spec.providerIDList"
    yield "provider-id-list", fields(kinds, same({ids: "array", f"{ids}.[]": "string"}))
    # Upstream's own core still reads `status.ready` of pools of either contract.
    either = {**_PROVISIONED.v1beta2, **_PROVISIONED.v1beta1}
    yield "initialization", one_of(kinds, (), either)
    yield "replicas", fields(kinds, same({"status.replicas": "integer"}))
    yield "definition", pools.DEFINITION
    yield "template", classes.template_of_class(_POOL)


def _bootstrap_config() -> Iterator[tuple[str, Check[Any]]]:
    kinds = definitions.mains_of(_BOOTSTRAP)
    created = {"status.initialization.dataSecretCreated": "boolean"}
    yield "data-secret", fields(kinds, same({"status.dataSecretName": "string"}))
    yield "initialization", fields(kinds, Shape(created, {"status.ready": "boolean"}))


def _control_plane() -> Iterator[tuple[str, Check[Any]]]:
    kinds = definitions.mains_of(_CONTROL_PLANE)
    new, old = (
        _counts("availableReplicas", "upToDateReplicas"),
        _counts("unavailableReplicas", "updatedReplicas"),
    )
    yield "endpoint", fields(kinds, _ENDPOINT)
    yield "replicas", fields(kinds, Shape(new, old, (_REPLICAS,)))
    yield "scale", schemas.scale(kinds, _REPLICAS)
    yield "version", fields(kinds, same({"spec.version": "string"}, "spec.version"))
    versions = {"status.versions": "array", "status.version": "string"}
    yield "status-version", one_of(kinds, ("spec.version",), versions)
    yield "machine-template", fields(kinds, _MACHINE_TEMPLATE)
    external = "status.externalManagedControlPlane"
    yield "external", fields(kinds, same({external: "boolean"}, external))
    after = ("spec.rollout.after", "spec.rolloutAfter")
    yield "rollout-after", fields(kinds, Shape({after[0]: "string"}, {after[1]: "string"}, after))
    initialized = {"status.initialization.controlPlaneInitialized": "boolean"}
    yield "initialization", fields(kinds, Shape(initialized, {"status.initialized": "boolean"}))
    yield "template", classes.template_of_class(_CONTROL_PLANE)


_MACHINE_TEMPLATE: Final = Shape(
    {
        f"{_MACHINES}.metadata": "object",
        f"{_MACHINES}.spec.infrastructureRef": "object",
        **{f"{_MACHINES}.spec.deletion.{one}Seconds": "integer" for one in _TIMEOUTS},
    },
    {
        f"{_MACHINES}.metadata": "object",
        f"{_MACHINES}.infrastructureRef": "object",
        **{f"{_MACHINES}.{one}": "string" for one in _TIMEOUTS},
    },
    (_MACHINES,),
)

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
    yield "status-subresource", subresources.status(kinds)
    yield "move-label", definitions.moved(_IPAM)
    yield "rights", manager_rights.RIGHTS
    yield "taker-rights", manager_rights.TAKER_RIGHTS


def _checks() -> dict[str, Check[Any]]:
    found = {f"clusterctl/{name}": one for name, one in _CLUSTERCTL.items()}
    for role in (_CLUSTER, _MACHINE, _POOL, _BOOTSTRAP, _CONTROL_PLANE):
        found |= {f"{role.document}/{name}": one for name, one in _all_resources(role)}
    for role, more in (
        (_CLUSTER, _infra_cluster()),
        (_MACHINE, _infra_machine()),
        (_POOL, _infra_machine_pool()),
        (_BOOTSTRAP, _bootstrap_config()),
        (_CONTROL_PLANE, _control_plane()),
        (_IPAM, _ipam()),
    ):
        found |= {f"{role.document}/{name}": one for name, one in more}
    return found


CHECKS: Final = _checks()
