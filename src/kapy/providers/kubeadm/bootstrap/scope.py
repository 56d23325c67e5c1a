"""What one reconcile of a KubeadmConfig works on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.machines import is_control_plane
from kapy.api.names import ConditionType, Reason
from kapy.providers.kubeadm.bootstrap.initlock import InitLock
from kapy.providers.kubeadm.bootstrap.tokens import Tokens
from kapy.providers.kubeadm.keychain import Keychain
from kapy.remote.connections import Connections
from kapy.sdk import Clock, Draft, Runtime, conditions

TOKEN_LIFE: Final = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Tools:
    """What every reconcile of this controller is given.

    control_plane_version: the version that a Cluster's control plane object wants, "" for none.
    """

    runtime: Runtime
    remote: Connections
    keychain: Keychain
    lock: InitLock
    tokens: Tokens
    control_plane_version: Callable[[Cluster], Awaitable[str]]


@dataclass(slots=True)
class Scope:
    """A KubeadmConfig, the Machine that it is for, and the Machine's Cluster."""

    tools: Tools
    draft: Draft[KubeadmConfig]
    machine: Machine
    cluster: Cluster

    @property
    def config(self) -> KubeadmConfig:
        return self.draft.object

    @property
    def clock(self) -> Clock:
        return self.tools.runtime.clock

    @property
    def now(self) -> datetime:
        return self.clock()

    @property
    def is_control_plane(self) -> bool:
        """Whether the Machine hosts the control plane."""
        return is_control_plane(self.machine)

    def set(self, condition: Condition) -> None:
        """Write a condition to the KubeadmConfig."""
        conditions.set_condition(self.config, condition, self.now)

    def data_available(self) -> None:
        """The boot data is there."""
        self.set(conditions.true(ConditionType.DATA_SECRET_AVAILABLE, Reason.AVAILABLE))

    def data_not_available(self, message: str) -> None:
        """The boot data is not there, and why."""
        self.set(
            conditions.false(ConditionType.DATA_SECRET_AVAILABLE, Reason.NOT_AVAILABLE, message)
        )

    def certificates_available(self) -> None:
        """The cluster's certificates are there."""
        self.set(conditions.true(ConditionType.CERTIFICATES_AVAILABLE, Reason.AVAILABLE))

    def certificates_unknown(self) -> None:
        """The cluster's certificates could not be read or made."""
        self.set(
            conditions.unknown(
                ConditionType.CERTIFICATES_AVAILABLE,
                Reason.INTERNAL_ERROR,
                "Please check controller logs for errors",
            )
        )
