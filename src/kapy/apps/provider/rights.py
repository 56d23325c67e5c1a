"""The RBAC rules of a provider, derived from its controllers.

Its watches are known after its controllers were added to a runtime; the SDK's writes are known per
provider type. Additional rights are declared by the provider (`Provider.rights`).
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
from kapy.apps.migrated_kinds import resources_of_provider, rights_to_migrate
from kapy.apps.provider.controllers import add_provider
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.names import CONFIG_MAPS, EVENTS, SECRETS, Resource
from kapy.sdk.provider import Provider, Right

_WATCHED_ON_DEMAND: Final = {Machine.RESOURCE: MachinePool.RESOURCE}
"""Maps a kind that the SDK always watches to a kind that it begins to watch on first use."""
_CORE: Final = frozenset(
    f"{item}.cluster.x-k8s.io" for item in ("addons", "bootstrap", "controlplane", "infrastructure")
)
"""API groups that core has all rights in anyway."""


def watched_resources(provider: Provider) -> list[Resource]:
    """Return the resources that the controllers of a provider watch, sorted."""
    return _informer_resources(_runtime_of(provider))


def _runtime_of(provider: Provider) -> Runtime:
    """Return a runtime with the provider's controllers, which never run."""
    runtime = Runtime.on(_refuse_request, clock=system_clock)
    add_provider(provider, runtime)
    return runtime


def _informer_resources(runtime: Runtime) -> list[Resource]:
    watched = set(runtime.cache.unsynced_resources())
    later = {pool for resource, pool in _WATCHED_ON_DEMAND.items() if resource in watched}
    return sorted(watched | later, key=lambda resource: (resource.group, resource.plural))


async def _refuse_request(request: Request) -> Reply:
    raise Unreachable(f"nobody answers {request.path}: the controllers are not run")


def program_rules(provider: Provider, trusting: Sequence[Document] = ()) -> list[Document]:
    """Return the rules of the provider's own program. trusting: as for `cluster_rules`."""
    return rules_of_runtime(provider, _runtime_of(provider), trusting)


def rules_of_runtime(
    provider: Provider, runtime: Runtime, trusting: Sequence[Document] = ()
) -> list[Document]:
    """Return the same rules for a runtime to which the provider's controllers were added."""
    own = {kind.RESOURCE.group_resource for kind in provider.kinds}
    rights = [Right(EVENTS.group, (EVENTS.plural,), ("create", "patch")), *provider.rights]
    watched = _informer_resources(runtime)
    rights += [Right(key.group, (key.plural,), tuple(v)) for key, v in runtime.writes.items()]
    for resource in watched:
        mine = resource.group_resource in own
        rights.append(Right(resource.group, (resource.plural,), (*READ, "patch") if mine else READ))
        if mine:
            rights.append(Right(resource.group, (f"{resource.plural}/status",), ("patch",)))
    return cluster_rules([*rights, *_sdk_rights(provider, watched)], trusting)


def _sdk_rights(provider: Provider, resources: Collection[Resource]) -> Iterator[Right]:
    """Yield the rights for the SDK's writes to other kinds, and for the migration of the provider's
    own kinds."""
    yield from rights_to_migrate(resources_of_provider(provider))
    addresses, claims = IPAddress.RESOURCE, IPAddressClaim.RESOURCE
    if provider.type == "ipam":
        yield Right(addresses.group, (addresses.plural,), ("create", "delete", "patch"))
        yield Right(claims.group, (claims.plural, f"{claims.plural}/status"), ("patch",))
    if provider.type in ("bootstrap", "control-plane"):
        yield Right("", (SECRETS.plural,), ("create", "patch"))
    if CONFIG_MAPS in resources:  # for the init lock of clusters
        yield Right("", (CONFIG_MAPS.plural,), ("create", "delete"))


def core_rules(provider: Provider) -> list[Document]:
    """Return the rules for the provider's kinds that core and the kubeadm control plane provider
    need, because they access these kinds.
    """
    return rules_of(
        Right(kind.RESOURCE.group, (kind.RESOURCE.plural,), FULL)
        for kind in provider.kinds
        if kind.RESOURCE.group not in _CORE
    )
