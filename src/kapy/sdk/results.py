"""The results that a provider returns for a machine, a pool or a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from kapy.api.condition import Condition
from kapy.api.embedded import FailureDomain
from kapy.api.infrastructure import PoolInstance
from kapy.kube.pki import KeyPair
from kapy.kube.renamed import renamed_fields

StatusFields: TypeAlias = Mapping[str, Any]
"""The status fields that a kind has beside those of its contract, by their names in JSON. A value
may be a Struct; None removes the field; a missing field stays unchanged."""
POLL_INTERVAL: Final = timedelta(seconds=10)


class Address(NamedTuple):
    """One address of a machine."""

    type: Literal["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"]
    address: str


class Endpoint(NamedTuple):
    """The address of the API server of a cluster."""

    host: str
    port: int


@renamed_fields(because="message", poll_after="requeue_after")
@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The result of an operation that is not complete yet.

    message: the object or state that is waited for, for the Ready condition (if no conditions are
    reported) and the timer. requeue_after: the time until the next call; None if a watched object
    will change. conditions: the conditions that are known so far; `Ready` summarizes them. status:
    the kind's own fields.
    """

    message: str
    requeue_after: timedelta | None = POLL_INTERVAL
    conditions: Sequence[Condition] = ()
    status: StatusFields = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The result for an object that has failed terminally; no further reconcile can repair it.

    reason: one word in CamelCase that the provider documents. message: a sentence for users. The
    summary condition, an Event, and `status.failureReason` and `status.failureMessage` report both.
    The provider is not called again until the object is deleted. conditions: as in `Waiting`.
    status: the kind's own fields.
    """

    reason: str
    message: str
    conditions: Sequence[Condition] = ()
    status: StatusFields = field(default_factory=dict)


@renamed_fields(look_again="requeue_after", because="requeue_reason")
@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """The result for a machine whose infrastructure is provisioned (contract: initialization
    completed).

    provider_id: the provider ID, which equals the `spec.providerID` of the machine's Node and is
    immutable. failure_domain: the actual failure domain. annotations: annotations for the
    infrastructure machine. conditions: `Ready` summarizes them; without any, the machine is Ready.
    requeue_after: the time until the next call, for the reason `requeue_reason`. status: the kind's
    own fields.
    """

    provider_id: str
    addresses: Sequence[Address] = ()
    failure_domain: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    conditions: Sequence[Condition] = ()
    requeue_after: timedelta | None = None
    requeue_reason: str = ""
    status: StatusFields = field(default_factory=dict)


@renamed_fields(look_again="requeue_after", because="requeue_reason")
@dataclass(frozen=True, slots=True, kw_only=True)
class PoolProvisioned:
    """The result for a pool whose infrastructure is provisioned (contract: initialization
    completed).

    provider_ids: one for each machine, equal to the `spec.providerID` of its Node; a machine whose
    ID is missing is gone. replicas: the number of machines, if not all have an ID yet. provider_id:
    the ID of the pool itself. instances: information about the machines for users. conditions,
    requeue_after, requeue_reason, status: as in `Provisioned`.
    """

    provider_ids: Sequence[str]
    replicas: int | None = None
    provider_id: str = ""
    instances: Sequence[PoolInstance] = ()
    conditions: Sequence[Condition] = ()
    requeue_after: timedelta | None = None
    requeue_reason: str = ""
    status: StatusFields = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterProvisioned:
    """The result for a cluster whose infrastructure is provisioned (contract: initialization
    completed).

    endpoint: the control plane endpoint, None if the provider has none. failure_domains: the
    failure domains for machines. annotations: annotations for the infrastructure cluster.
    conditions: `Ready` summarizes them; without any, the cluster is Ready. status: the kind's own
    fields.
    """

    endpoint: Endpoint | None = None
    failure_domains: Sequence[FailureDomain] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    conditions: Sequence[Condition] = ()
    status: StatusFields = field(default_factory=dict)


@renamed_fields(look_again="requeue_after", because="requeue_reason")
@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapData:
    """The bootstrap data that a machine executes when it starts.

    value: the data; never shown. format: the name by which infrastructure providers know the format
    (`cloud-config`, `ignition`, …). conditions: `Ready` summarizes them, with DataSecretAvailable.
    requeue_after: the time until `refresh` is called, for the reason `requeue_reason`. status: the
    kind's own fields.
    """

    value: bytes = field(repr=False)
    format: str = "cloud-config"
    conditions: Sequence[Condition] = ()
    requeue_after: timedelta | None = None
    requeue_reason: str = ""
    status: StatusFields = field(default_factory=dict)


@renamed_fields(look_again="requeue_after", because="requeue_reason")
@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """The result for bootstrap data that is still valid. conditions, requeue_after, requeue_reason,
    status: as in `BootstrapData`.
    """

    conditions: Sequence[Condition] = ()
    requeue_after: timedelta | None = None
    requeue_reason: str = ""
    status: StatusFields = field(default_factory=dict)


class Replicas(NamedTuple):
    """The number of instances of a control plane, and how many are ready, available, and up to
    date.
    """

    total: int
    ready: int
    available: int
    up_to_date: int


@renamed_fields(look_again="requeue_after", because="requeue_reason")
@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneProvisioned:
    """The current state of a control plane.

    endpoint: the endpoint of its API server, None if it uses the Cluster's. initialized: whether it
    serves requests (contract: initialization completed; never unset). version: the oldest
    Kubernetes version that runs, "" if none does. replicas: the counted instances, None if it has
    no countable ones.

    Set one of two: kubeconfig, a complete file (if the provider issues and renews credentials), or
    authority, the CA from which the SDK issues and renews one; by default the CA of the Secret
    `<cluster>-ca`. Neither is ever shown.

    conditions: `Available` summarizes them; without any, it is Available once it is initialized.
    requeue_after: the time until the next call, for the reason `requeue_reason`. status: the kind's
    own fields.
    """

    endpoint: Endpoint | None = None
    initialized: bool = True
    version: str = ""
    replicas: Replicas | None = None
    kubeconfig: bytes = field(default=b"", repr=False)
    authority: KeyPair | None = field(default=None, repr=False)
    conditions: Sequence[Condition] = ()
    requeue_after: timedelta | None = None
    requeue_reason: str = ""
    status: StatusFields = field(default_factory=dict)


@renamed_fields(look_again="requeue_after", because="requeue_reason")
@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneObserved:
    """The observed state of a control plane that consists of Machines.

    initialized: whether it serves requests (contract: initialization completed; never unset).
    unstable: the reason for which no Machine may be added or removed now, "" if one may.
    conditions: `Available` summarizes them; without any, it is Available once it is initialized.
    requeue_after: the time until the next call, for the reason `requeue_reason`; core's Machines
    are watched. status: the kind's own fields.
    """

    initialized: bool
    unstable: str = ""
    conditions: Sequence[Condition] = ()
    requeue_after: timedelta | None = None
    requeue_reason: str = ""
    status: StatusFields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Released:
    """The result of a complete deletion: the infrastructure no longer exists."""
