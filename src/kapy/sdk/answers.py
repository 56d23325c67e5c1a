"""What a provider answers when it is asked about a machine, a pool or a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Literal, NamedTuple

from kapy.api.condition import Condition
from kapy.api.embedded import FailureDomain
from kapy.api.infrastructure import PoolInstance

POLL: Final = timedelta(seconds=10)


class Address(NamedTuple):
    """One address of a machine."""

    type: Literal["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"]
    address: str


class Endpoint(NamedTuple):
    """Where the API server of a cluster is reached."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """It is not done yet.

    because: said in the Ready condition (where no conditions are reported) and with the timer.
    poll_after: when to ask again; None when something that the controller watches will change.
    conditions: what is known so far; `Ready` sums them up.
    """

    because: str
    poll_after: timedelta | None = POLL
    conditions: Sequence[Condition] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """The machine's infrastructure is there (contract: initialization completed).

    provider_id: equal to the `spec.providerID` of the machine's Node, and never changes.
    failure_domain: where the machine really is. conditions: `Ready` sums them up; without any,
    the machine is Ready. look_again: ask again after that time, `because` of what.
    """

    provider_id: str
    addresses: Sequence[Address] = ()
    failure_domain: str = ""
    conditions: Sequence[Condition] = ()
    look_again: timedelta | None = None
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolProvisioned:
    """The pool's infrastructure is there (contract: initialization completed), as it is now.

    provider_ids: one for each machine, equal to the `spec.providerID` of its Node; a machine whose
    ID is not in it any more is gone. replicas: how many machines there are, where not all have an
    ID yet. provider_id: of the pool itself. instances: what users may want to know of the
    machines. conditions, look_again, because: as of `Provisioned`.
    """

    provider_ids: Sequence[str]
    replicas: int | None = None
    provider_id: str = ""
    instances: Sequence[PoolInstance] = ()
    conditions: Sequence[Condition] = ()
    look_again: timedelta | None = None
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterProvisioned:
    """The cluster's infrastructure is there (contract: initialization completed).

    endpoint: of the control plane, None when somebody else provides it. failure_domains: where
    machines can be placed. annotations: to have on the infrastructure cluster. conditions: `Ready`
    sums them up; without any, no Ready condition is reported and core goes by the initialization.
    """

    endpoint: Endpoint | None = None
    failure_domains: Sequence[FailureDomain] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    conditions: Sequence[Condition] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapData:
    """What a machine runs when it starts.

    value: the data; never shown. format: what it is, as infrastructure providers know it
    (`cloud-config`, `ignition`, …). conditions: `Ready` sums them up, with DataSecretAvailable.
    look_again: ask again (`refresh`) after that time, `because` of what.
    """

    value: bytes = field(repr=False)
    format: str = "cloud-config"
    conditions: Sequence[Condition] = ()
    look_again: timedelta | None = None
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """Boot data is still good. conditions, look_again, because: as of `BootstrapData`."""

    conditions: Sequence[Condition] = ()
    look_again: timedelta | None = None
    because: str = ""


@dataclass(frozen=True, slots=True)
class Released:
    """Nothing is left of it at the provider."""
