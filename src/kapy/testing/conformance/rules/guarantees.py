"""Guarantees of core for the objects of providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.testing.conformance.rules.rule import Rows, Rule

_FOR_GOOD: Final = "which is never taken back."


def general(rows: Rows, kind: str) -> list[Rule]:
    """Add guarantees for all resources."""
    version = "All resources: version"
    return [
        rows.core(
            "broken-told",
            f"Contract rules for {kind}",
            "A condition of the object that refers to an object which breaks a rule names that "
            "object, the field and the value until it is put right; other objects go on.",
        ),
        rows.core(
            "owner-set",
            "All resources: TypeMeta and ObjectMeta field",
            "Core writes the owner reference and the label of the Cluster, and nothing else of the "
            "object.",
        ),
        rows.core(
            "references",
            "All resources: API group",
            "References have group and kind; the version follows from the CRD.",
        ),
        rows.core(
            "version-read",
            version,
            "Objects are read in the newest version of the newest contract that core knows and "
            "the CRD serves.",
        ),
        rows.core(
            "rights-asked",
            "All resources: API group",
            "Where core has no rights, a condition asks for them.",
        ),
    ]


def initialized(rows: Rows, kind: str, says: str) -> Rule:
    """Add the guarantees that follow from being initialized."""
    return rows.core("initialized-taken", f"{kind}: initialization completed", says)


def conditions(rows: Rows, kind: str, shown: str) -> list[Rule]:
    """Add guarantees about conditions. shown: which condition, and where it is shown."""
    section = f"{kind}: conditions"
    return [
        rows.core(
            "conditions-read",
            section,
            "Conditions need type and status; reason, message and time are filled in; those of "
            "Cluster API's legacy type are read, too.",
        ),
        rows.core("conditions-shown", section, shown),
    ]


def failures(rows: Rows, kind: str, owner: str) -> Rule:
    """Add guarantees about terminal failures."""
    return rows.core(
        "failures-taken",
        f"{kind}: terminal failures",
        f"status.failureReason and status.failureMessage are shown in status.deprecated.v1beta1 of "
        f"the {owner} for as long as it lives.",
    )


def infra_cluster(rows: Rows) -> Sequence[Rule]:
    """Add the guarantees for InfraCluster."""
    kind = "InfraCluster"
    return [
        *general(rows, kind),
        rows.core(
            "endpoint-taken",
            f"{kind}: control plane endpoint",
            "When the infrastructure is provisioned, the Cluster takes the endpoint over, unless "
            "it has one.",
        ),
        rows.core(
            "failure-domains-taken",
            f"{kind}: failure domains",
            "The Cluster has the failure domains, as a list.",
        ),
        initialized(rows, kind, f"The Cluster then is infrastructureProvisioned, {_FOR_GOOD}"),
        *conditions(rows, kind, "Ready is shown as InfrastructureReady of the Cluster."),
        failures(rows, kind, "Cluster"),
        rows.core(
            "managed-taken",
            "Externally managed infrastructure",
            "Core uses externally managed infrastructure as it is.",
        ),
        rows.core(
            "deleted-last",
            "Deleted resource",
            "The object is deleted after everything else of the Cluster.",
        ),
    ]


def infra_machine(rows: Rows) -> Sequence[Rule]:
    """Add the guarantees for InfraMachine."""
    kind = "InfraMachine"
    return [
        *general(rows, kind),
        rows.core(
            "provider-id-taken",
            f"{kind}: provider ID",
            "When the machine is provisioned, the Machine takes the provider ID over, and its Node "
            "is found by it; it does not change under a Node, and belongs to one Machine.",
        ),
        rows.core(
            "failure-domain-taken",
            f"{kind}: failure domain",
            "Where the machine is said to be is status.failureDomain of the Machine.",
        ),
        rows.core(
            "addresses-taken",
            f"{kind}: addresses",
            "When the machine is provisioned, the Machine has its addresses.",
        ),
        initialized(rows, kind, f"The Machine then is infrastructureProvisioned, {_FOR_GOOD}"),
        *conditions(rows, kind, "Ready is shown as InfrastructureReady of the Machine."),
        failures(rows, kind, "Machine"),
    ]


def infra_machine_pool(rows: Rows) -> Sequence[Rule]:
    """Add the guarantees for InfraMachinePool."""
    kind = "InfraMachinePool"
    return [
        *general(rows, kind),
        rows.core(
            "machines-made",
            "MachinePoolMachines support",
            "Each object that stands for a single machine gets a Machine.",
        ),
        rows.core(
            "provider-ids-taken",
            f"{kind}: providerIDList",
            "The MachinePool has the IDs; Nodes are found by them, and go with them.",
        ),
        initialized(rows, kind, f"The MachinePool then is infrastructureProvisioned, {_FOR_GOOD}"),
        *conditions(rows, kind, "Ready is shown as InfrastructureReady of the MachinePool."),
        rows.core(
            "replicas-taken", f"{kind}: replicas", "status.replicas is that of the MachinePool."
        ),
        failures(rows, kind, "MachinePool"),
    ]


def bootstrap_config(rows: Rows) -> Sequence[Rule]:
    """Add the guarantees for BootstrapConfig."""
    kind = "BootstrapConfig"
    return [
        *general(rows, kind),
        rows.core(
            "data-secret-taken",
            f"{kind}: data secret",
            "The Machine takes the name of the Secret over, when it is said to be made.",
        ),
        initialized(rows, kind, f"The Machine then is bootstrapDataSecretCreated, {_FOR_GOOD}"),
        *conditions(rows, kind, "Ready is shown as BootstrapConfigReady of the Machine."),
        failures(rows, kind, "Machine"),
    ]


def control_plane(rows: Rows) -> Sequence[Rule]:
    """Add the guarantees for ControlPlane."""
    kind = "ControlPlane"
    return [
        *general(rows, kind),
        rows.core(
            "endpoint-taken",
            f"{kind}: endpoint",
            "When the control plane is initialized, the Cluster takes the endpoint over, unless it "
            "has one.",
        ),
        rows.core(
            "replicas-counted",
            f"{kind}: replicas",
            "The Cluster counts what each contract tells.",
        ),
        rows.core(
            "version-awaited",
            f"{kind}: version",
            "An upgrade is done, and workers follow, when the oldest version that runs is the one "
            "that is wanted.",
        ),
        rows.core(
            "external-taken",
            f"{kind}: machines",
            "Where there are no Nodes for the control plane, none is waited for.",
        ),
        initialized(rows, kind, f"The Cluster then is controlPlaneInitialized, {_FOR_GOOD}"),
        *conditions(rows, kind, "Available is shown as ControlPlaneAvailable of the Cluster."),
        failures(rows, kind, "Cluster"),
        rows.core(
            "connections",
            "Cluster kubeconfig management",
            "Core reaches the workload cluster by that Secret, which it finds by name and label: "
            "one without the label is none. Its type is not looked at.",
        ),
        rows.core(
            "machines-available",
            "MinReadySeconds and UpToDate propagation",
            "A Machine is Available when it was Ready for spec.minReadySeconds.",
        ),
        rows.core(
            "pods-network",
            f"Contract rules for {kind}",
            "Networking between Pods is the user's: a Machine whose Node waits for it says so.",
        ),
    ]
