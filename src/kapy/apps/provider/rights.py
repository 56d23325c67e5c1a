"""RBAC of a provider: what it watches is found out by asking it, what it writes is the SDK's doing.

No more than that: what a provider does besides, it says itself (`Provider.rights`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from kapy._aio.clock import system_clock
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.apps.components.programs import cluster_rules
from kapy.apps.components.rules import FULL, READ, rules_of
from kapy.apps.provider.adding import added
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.names import CONFIG_MAPS, EVENTS, SECRETS, Resource
from kapy.sdk.provider import Provider, Right

_LATER: Final = {Machine.RESOURCE: MachinePool.RESOURCE}
"""What the SDK watches from the moment on that it needs it, beside something that it watches."""
_CORE: Final = frozenset(
    f"{one}.cluster.x-k8s.io" for one in ("addons", "bootstrap", "controlplane", "infrastructure")
)
"""API groups that core has all rights in anyway."""


def watched_by(provider: Provider) -> list[Resource]:
    """What the controllers of a provider watch, sorted."""
    return _watched(_asked(provider))


def _asked(provider: Provider) -> Runtime:
    """A runtime with the provider's controllers, which are not run."""
    runtime = Runtime.on(_nobody, clock=system_clock)
    added(provider, runtime)
    return runtime


def _watched(runtime: Runtime) -> list[Resource]:
    watched = set(runtime.cache.unsynced())
    later = {pool for one, pool in _LATER.items() if one in watched}
    return sorted(watched | later, key=lambda one: (one.group, one.plural))


async def _nobody(request: Request) -> Reply:
    raise Unreachable(f"nobody answers {request.path}: the controllers are not run")


def program_rules(provider: Provider, trusting: Sequence[Document] = ()) -> list[Document]:
    """What the provider's own program may do. trusting: as of `cluster_rules`."""
    return rules_on(provider, _asked(provider), trusting)


def rules_on(
    provider: Provider, runtime: Runtime, trusting: Sequence[Document] = ()
) -> list[Document]:
    """The same, of a runtime that has the provider's controllers already."""
    own = {kind.RESOURCE.group_resource for kind in provider.kinds}
    rights = [Right(EVENTS.group, (EVENTS.plural,), ("create", "patch")), *provider.rights]
    watched = _watched(runtime)
    rights += [Right(one.group, (one.plural,), tuple(v)) for one, v in runtime.writes.items()]
    for one in watched:
        mine = one.group_resource in own
        rights.append(Right(one.group, (one.plural,), (*READ, "patch") if mine else READ))
        if mine:
            rights.append(Right(one.group, (f"{one.plural}/status",), ("patch",)))
    return cluster_rules([*rights, *_written_by_sdk(provider, watched)], trusting)


def _written_by_sdk(provider: Provider, watched: Collection[Resource]) -> Iterator[Right]:
    """What the SDK writes for a provider besides the provider's own kinds."""
    addresses, claims = IPAddress.RESOURCE, IPAddressClaim.RESOURCE
    if provider.type == "ipam":
        yield Right(addresses.group, (addresses.plural,), ("create", "delete", "patch"))
        yield Right(claims.group, (claims.plural, f"{claims.plural}/status"), ("patch",))
    if provider.type in ("bootstrap", "control-plane"):
        yield Right("", (SECRETS.plural,), ("create", "patch"))
    if CONFIG_MAPS in watched:  # the lock of a cluster's first machine
        yield Right("", (CONFIG_MAPS.plural,), ("create", "delete"))


def core_rules(provider: Provider) -> list[Document]:
    """What core has to be granted, and the kubeadm control plane provider: they work with kinds of
    groups of the provider's own, too."""
    return rules_of(
        Right(kind.RESOURCE.group, (kind.RESOURCE.plural,), FULL)
        for kind in provider.kinds
        if kind.RESOURCE.group not in _CORE
    )
