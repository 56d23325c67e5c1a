"""What a provider answers when it is asked about a machine, a pool or a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from kapy.api.condition import Condition
from kapy.api.embedded import FailureDomain
from kapy.api.infrastructure import PoolInstance
from kapy.kube.pki import KeyPair

StatusFields: TypeAlias = Mapping[str, Any]
"""Fields of the status that a kind has beside those of its contract, by their names in JSON. A
value may be a Struct; None takes the field away; a field that is not given stays as it is."""
POLL: Final = timedelta(seconds=10)


class Address(NamedTuple):
    """One address of a machine."""

    type: Literal["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"]
    address: str


class Endpoint(NamedTuple):
    """The address of the API server of a cluster."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The operation is not complete yet.

    because: said in the Ready condition (where no conditions are reported) and with the timer.
    poll_after: when to ask again; None when something that the controller watches will change.
    conditions: what is known so far; `Ready` sums them up. status: fields of the kind's own.
    """

    because: str
    poll_after: timedelta | None = POLL
    conditions: Sequence[Condition] = ()
    status: StatusFields = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The object has failed terminally; no further reconcile can repair it.

    reason: one word in CamelCase that the provider documents. message: for people. Both are said
    by the condition that sums up, by an Event, and by `status.failureReason` and
    `status.failureMessage`. While these are set, the provider is not asked any more, until the
    object is to be deleted. conditions: as of `Waiting`. status: fields of the kind's own.
    """

    reason: str
    message: str
    conditions: Sequence[Condition] = ()
    status: StatusFields = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """The infrastructure of the machine is provisioned (contract: initialization completed).

    provider_id: equal to the `spec.providerID` of the machine's Node, and never changes.
    failure_domain: where the machine really is. annotations: to have on the infrastructure machine.
    conditions: `Ready` sums them up; without any, the machine is Ready. look_again: ask again after
    that time, `because` of what. status: fields of the kind's own.
    """

    provider_id: str
    addresses: Sequence[Address] = ()
    failure_domain: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    conditions: Sequence[Condition] = ()
    look_again: timedelta | None = None
    because: str = ""
    status: StatusFields = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolProvisioned:
    """The infrastructure of the pool is provisioned (contract: initialization completed).

    provider_ids: one for each machine, equal to the `spec.providerID` of its Node; a machine whose
    ID is not in it any more is gone. replicas: how many machines there are, where not all have an
    ID yet. provider_id: of the pool itself. instances: what users may want to know of the
    machines. conditions, look_again, because, status: as of `Provisioned`.
    """

    provider_ids: Sequence[str]
    replicas: int | None = None
    provider_id: str = ""
    instances: Sequence[PoolInstance] = ()
    conditions: Sequence[Condition] = ()
    look_again: timedelta | None = None
    because: str = ""
    status: StatusFields = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterProvisioned:
    """The infrastructure of the cluster is provisioned (contract: initialization completed).

    endpoint: of the control plane, None when somebody else provides it. failure_domains: where
    machines can be placed. annotations: to have on the infrastructure cluster. conditions: `Ready`
    sums them up; without any, the cluster is Ready. status: fields of the kind's own.
    """

    endpoint: Endpoint | None = None
    failure_domains: Sequence[FailureDomain] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    conditions: Sequence[Condition] = ()
    status: StatusFields = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapData:
    """The bootstrap data of a machine, which it executes when it starts.

    value: the data; never shown. format: what it is, as infrastructure providers know it
    (`cloud-config`, `ignition`, …). conditions: `Ready` sums them up, with DataSecretAvailable.
    look_again: ask again (`refresh`) after that time, `because` of what. status: fields of the
    kind's own.
    """

    value: bytes = field(repr=False)
    format: str = "cloud-config"
    conditions: Sequence[Condition] = ()
    look_again: timedelta | None = None
    because: str = ""
    status: StatusFields = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """Boot data is still good. conditions, look_again, because, status: as of `BootstrapData`."""

    conditions: Sequence[Condition] = ()
    look_again: timedelta | None = None
    because: str = ""
    status: StatusFields = field(default_factory=dict)


class Replicas(NamedTuple):
    """How many instances a control plane has, and how many of them are ready, available, and as
    they are wanted."""

    total: int
    ready: int
    available: int
    up_to_date: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneProvisioned:
    """The current state of a control plane.

    endpoint: where its API server is reached, None where the Cluster's is used. initialized: it
    takes requests (contract: initialization completed; never taken back). version: the oldest
    Kubernetes version that runs, "" while none does. replicas: None where it has no instances that
    could be counted.

    One of two says how the cluster is reached: kubeconfig, the whole file (for who issues
    credentials of its own, and new ones in time), or authority, the CA for whose sake the SDK
    issues one and renews it; without either it is the CA in the Secret `<cluster>-ca`. Neither is
    ever shown.

    conditions: `Available` sums them up; without any, it is Available once it is initialized.
    look_again: ask again after that time, `because` of what. status: fields of the kind's own.
    """

    endpoint: Endpoint | None = None
    initialized: bool = True
    version: str = ""
    replicas: Replicas | None = None
    kubeconfig: bytes = field(default=b"", repr=False)
    authority: KeyPair | None = field(default=None, repr=False)
    conditions: Sequence[Condition] = ()
    look_again: timedelta | None = None
    because: str = ""
    status: StatusFields = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneSeen:
    """The observed state of a control plane that consists of Machines.

    initialized: it takes requests (contract: initialization completed; never taken back). unstable:
    why no Machine may be added or taken away right now, "" when one may. conditions: `Available`
    sums them up; without any, it is Available once it is initialized. look_again: ask again after
    that time, `because` of what; core's Machines are watched. status: fields of the kind's own.
    """

    initialized: bool
    unstable: str = ""
    conditions: Sequence[Condition] = ()
    look_again: timedelta | None = None
    because: str = ""
    status: StatusFields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Released:
    """The deletion is complete; the infrastructure no longer exists."""
