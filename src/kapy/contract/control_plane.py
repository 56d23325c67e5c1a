"""The ControlPlane contract: the fields that core reads, each with its rule, and properties that
are derived from several fields.
"""

from __future__ import annotations

from typing import Final

from kapy.contract import values
from kapy.contract.errors import WrongType
from kapy.contract.fields import (
    Field,
    FieldRule,
    Level,
    Version,
    View,
    boolean,
    field_types,
    integer,
    items,
    seconds,
    text,
)
from kapy.contract.infra_cluster import endpoint_rule
from kapy.kube.version import InvalidVersion, compare, parse_tolerant
from kapy.kube.version import Version as KubernetesVersion

_TEMPLATE = "spec.machineTemplate"
_VERSION_CHOSEN: Final = "the version of Kubernetes can be chosen"
_REPLICAS: Final = FieldRule(
    "replicas",
    "ControlPlane: replicas",
    "spec.replicas says how many are wanted; status has selector, replicas, readyReplicas, "
    "availableReplicas and upToDateReplicas (v1beta1: unavailable- and updatedReplicas).",
    when="the number of instances can be chosen",
    shown="spec.replicas",
)
_STATUS_VERSION: Final = FieldRule(
    "status-version",
    "ControlPlane: version",
    "status.versions or status.version says what runs.",
    when=_VERSION_CHOSEN,
    shown="spec.version",
    any_of=True,
)
_MACHINE_TEMPLATE: Final = FieldRule(
    "machine-template",
    "ControlPlane: machines",
    f"{_TEMPLATE} has metadata, a reference to an infrastructure template and the "
    "three timeouts of deletion.",
    when="control plane instances are Machines",
    shown=_TEMPLATE,
)


class ControlPlane(View):
    """The fields of a control plane object that core reads."""

    __slots__ = ()

    AVAILABLE_CONDITION: Final = "Available"

    control_plane_endpoint = Field(
        "spec.controlPlaneEndpoint",
        values.endpoint,
        rule=endpoint_rule("ControlPlane: endpoint"),
        types=field_types(host="string", port="integer"),
    )
    version = text(
        "spec.version",
        rule=FieldRule(
            "version",
            "ControlPlane: version",
            "{field}, a string, says which version of Kubernetes is wanted.",
            when=_VERSION_CHOSEN,
            shown="spec.version",
        ),
    )
    replicas = integer("spec.replicas", rule=_REPLICAS)
    rollout_after = Field("spec.rollout.after", values.time)

    machine_metadata = Field(
        f"{_TEMPLATE}.metadata",
        values.template_meta,
        rule=_MACHINE_TEMPLATE,
        types=field_types("object"),
    )
    infrastructure_ref = Field(
        f"{_TEMPLATE}.spec.infrastructureRef",
        values.reference,
        v1beta1=f"{_TEMPLATE}.infrastructureRef",
        decode_v1beta1=values.versioned_reference,
        rule=_MACHINE_TEMPLATE,
        types=field_types("object"),
    )
    node_drain_timeout = seconds(
        f"{_TEMPLATE}.spec.deletion.nodeDrainTimeoutSeconds",
        v1beta1=f"{_TEMPLATE}.nodeDrainTimeout",
        rule=_MACHINE_TEMPLATE,
    )
    node_volume_detach_timeout = seconds(
        f"{_TEMPLATE}.spec.deletion.nodeVolumeDetachTimeoutSeconds",
        v1beta1=f"{_TEMPLATE}.nodeVolumeDetachTimeout",
        rule=_MACHINE_TEMPLATE,
    )
    node_deletion_timeout = seconds(
        f"{_TEMPLATE}.spec.deletion.nodeDeletionTimeoutSeconds",
        v1beta1=f"{_TEMPLATE}.nodeDeletionTimeout",
        rule=_MACHINE_TEMPLATE,
    )
    readiness_gates = Field(
        f"{_TEMPLATE}.spec.readinessGates",
        items(values.readiness_gate),
        v1beta1=f"{_TEMPLATE}.readinessGates",
    )
    taints = Field(f"{_TEMPLATE}.spec.taints", items(values.taint), v1beta1=f"{_TEMPLATE}.taints")

    initialized = boolean(
        "status.initialization.controlPlaneInitialized",
        v1beta1="status.initialized",
        mandatory=True,
        rule=FieldRule(
            "initialization",
            "ControlPlane: initialization completed",
            "{field} is there to say that requests are answered.",
        ),
    )
    external_managed = boolean(
        "status.externalManagedControlPlane",
        rule=FieldRule(
            "external",
            "ControlPlane: machines",
            "{field}, true or false, says that there are no Nodes for the control plane.",
            Level.SHOULD,
            "CRDs have status.externalManagedControlPlane",
            shown="status.externalManagedControlPlane",
        ),
    )
    selector = text("status.selector", rule=_REPLICAS)
    status_versions = Field(
        "status.versions",
        items(values.status_version),
        rule=_STATUS_VERSION,
        types=field_types("array"),
    )
    status_version = text("status.version", rule=_STATUS_VERSION)
    status_replicas = integer("status.replicas", rule=_REPLICAS)
    ready_replicas = integer("status.readyReplicas", rule=_REPLICAS)
    available_replicas = integer("status.availableReplicas", rule=_REPLICAS, only=Version.V1BETA2)
    unavailable_replicas = integer(
        "status.unavailableReplicas", rule=_REPLICAS, only=Version.V1BETA1
    )
    up_to_date_replicas = integer(
        "status.upToDateReplicas", v1beta1="status.updatedReplicas", rule=_REPLICAS
    )
    failure_reason = text("status.failureReason")
    failure_message = text("status.failureMessage")

    @property
    def current_version(self) -> str | None:
        """The oldest version that runs, None if nothing runs yet."""
        versions = self.status_versions
        return versions[0].version if versions else self.status_version

    @property
    def is_provisioning(self) -> bool:
        """Return whether no machine runs yet."""
        return not self.current_version

    @property
    def is_upgrading(self) -> bool:
        """Return whether the wanted version is newer than a running one."""
        wanted = _parse_version("spec.version", ControlPlane.version.require(self))
        versions = self.status_versions
        if versions:
            running = [_parse_version("status.versions", item.version) for item in versions]
        elif self.status_version:
            running = [_parse_version("status.version", self.status_version)]
        else:
            return False
        return any(compare(wanted, item, build_tags=True) >= 1 for item in running)

    @property
    def is_scaling(self) -> bool:
        """Return whether the numbers of wanted, current, up-to-date, ready and available machines
        differ.
        """
        wanted = ControlPlane.replicas.require(self)
        available = self.available_replicas
        if self.contract is Version.V1BETA1:
            available = wanted - (self.unavailable_replicas or 0)
        counts = (self.status_replicas, self.up_to_date_replicas, self.ready_replicas, available)
        return any(count != wanted for count in counts)


def _parse_version(path: str, version: str) -> KubernetesVersion:
    try:
        return parse_tolerant(version)
    except InvalidVersion as error:
        raise WrongType(path, f'"{version}" is no version: {error}') from None
