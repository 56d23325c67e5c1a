"""The data of one reconcile of a KubeadmConfig, and its owner: one Machine, or a MachinePool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.machines import is_control_plane
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.wording import LOOK_AT_LOGS
from kapy.kube import Document
from kapy.kube.names import split_api_version
from kapy.providers.kubeadm.bootstrap.tokens import Tokens
from kapy.remote.cluster_cache import ClusterCache
from kapy.sdk import Runtime, conditions, v1beta1
from kapy.sdk.boot import BootstrapSecrets, InitLock
from kapy.sdk.certificates import ClusterCertificates
from kapy.sdk.controllers import Clock, Draft

TOKEN_LIFE: Final = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class ConfigOwner:
    """The facts about its owner that a KubeadmConfig needs.

    data_secret: the boot data Secret in the owner's spec. has_nodes: every desired machine has a
    Node.
    """

    name: str
    cluster: str
    version: str
    data_secret: str | None
    has_nodes: bool
    is_control_plane: bool
    is_pool: bool


def owning_machine(machine: Machine) -> ConfigOwner:
    """Return a Machine as owner."""
    return ConfigOwner(
        name=machine.metadata.name,
        cluster=machine.spec.cluster_name,
        version=machine.spec.version,
        data_secret=machine.spec.bootstrap.data_secret_name,
        has_nodes=machine.status.node_ref is not None,
        is_control_plane=is_control_plane(machine),
        is_pool=False,
    )


def owning_pool(pool: MachinePool) -> ConfigOwner:
    """Return a MachinePool as owner. Its boot data is never final, because tokens in it expire."""
    replicas = 1 if pool.spec.replicas is None else pool.spec.replicas
    return ConfigOwner(
        name=pool.metadata.name,
        cluster=pool.spec.cluster_name,
        version=pool.spec.template.spec.version,
        data_secret=None,
        has_nodes=len(pool.status.node_refs) == replicas,
        is_control_plane=False,
        is_pool=True,
    )


def owner_reference_of(config: Document) -> tuple[str, str, str]:
    """Kind, name and uid of the Machine or MachinePool that owns a KubeadmConfig; "" while none
    does."""
    kinds = (Machine.RESOURCE.kind, MachinePool.RESOURCE.kind)
    for reference in config["metadata"].get("ownerReferences") or ():
        group, _ = split_api_version(reference["apiVersion"])
        if group == Machine.RESOURCE.group and reference["kind"] in kinds:
            return str(reference["kind"]), str(reference["name"]), str(reference["uid"])
    return "", "", ""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of every reconcile of this controller.

    control_plane_version: the desired version in a Cluster's control plane object, "" for none.
    """

    runtime: Runtime
    remote: ClusterCache
    certificates: ClusterCertificates
    lock: InitLock
    tokens: Tokens
    data_secrets: BootstrapSecrets
    control_plane_version: Callable[[Cluster], Awaitable[str]]


@dataclass(slots=True)
class Scope:
    """A KubeadmConfig, its owner and their Cluster. is_connected: False if a step needed the
    workload cluster and there was no connection.
    """

    dependencies: Dependencies
    draft: Draft[KubeadmConfig]
    owner: ConfigOwner
    cluster: Cluster
    is_connected: bool = True

    @property
    def config(self) -> KubeadmConfig:
        return self.draft.object

    @property
    def clock(self) -> Clock:
        return self.dependencies.runtime.clock

    @property
    def now(self) -> datetime:
        return self.clock()

    @property
    def workload_now(self) -> datetime:
        """The time by the clock of the workload cluster, which ends bootstrap tokens."""
        return self.dependencies.remote.now(self.cluster.key)

    def set(self, condition: Condition) -> None:
        """Write a condition to the KubeadmConfig."""
        conditions.set_condition(self.config, condition, self.now)

    def set_v1beta1(self, condition: V1Beta1Condition | None) -> None:
        """Write a v1beta1 condition; None changes nothing."""
        v1beta1.set_condition(v1beta1.conditions_of(self.config), condition, self.now)

    def data_available(self) -> None:
        """Report that the boot data is available."""
        self.set(conditions.true(ConditionType.DATA_SECRET_AVAILABLE, Reason.AVAILABLE))
        self.set_v1beta1(v1beta1.true(V1Beta1Type.DATA_SECRET_AVAILABLE))

    def data_not_available(
        self, message: str, reason: str, severity: str = v1beta1.INFO, said: str = ""
    ) -> None:
        """Report that the boot data is not available, and why. reason, severity, said: for
        v1beta1."""
        type_ = ConditionType.DATA_SECRET_AVAILABLE
        self.set(conditions.false(type_, Reason.NOT_AVAILABLE, message))
        self.set_v1beta1(v1beta1.false(V1Beta1Type.DATA_SECRET_AVAILABLE, reason, severity, said))

    def data_failed(self, message: str, error: Exception) -> None:
        """Report that the boot data cannot be generated."""
        reason = V1Beta1Reason.DATA_SECRET_GENERATION_FAILED
        self.data_not_available(message, reason, v1beta1.WARNING, str(error))

    def certificates_available(self) -> None:
        """Report that the cluster's certificates exist."""
        self.certificates_were_available()
        self.set_v1beta1(v1beta1.true(V1Beta1Type.CERTIFICATES_AVAILABLE))

    def certificates_were_available(self) -> None:
        """Report that certificates exist because boot data does; v1beta1 does not conclude that."""
        self.set(conditions.true(ConditionType.CERTIFICATES_AVAILABLE, Reason.AVAILABLE))

    def certificates_unknown(self, reason: str, severity: str, error: Exception) -> None:
        """Report that the cluster's certificates could not be read or created."""
        self.set(
            conditions.unknown(
                ConditionType.CERTIFICATES_AVAILABLE,
                Reason.INTERNAL_ERROR,
                LOOK_AT_LOGS,
            )
        )
        type_ = V1Beta1Type.CERTIFICATES_AVAILABLE
        self.set_v1beta1(v1beta1.false(type_, reason, severity, str(error)))
