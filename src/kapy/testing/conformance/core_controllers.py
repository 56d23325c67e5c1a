"""The core controllers and bootable machines that a control plane of Machines needs.

They are kapy's own controllers with its kubeadm bootstrap provider and in-memory machines. They run
in this process, whatever the provider is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final

from kapy._aio.services import Service, run_services
from kapy.api.embedded import FailureDomain
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Version
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.nested import value_at
from kapy.testing.conformance.environment import MANAGER, Environment
from kapy.testing.conformance.provider_under_test import Kind, Launcher, Limits, ProviderUnderTest
from kapy.testing.fake_core import reference

if TYPE_CHECKING:
    from kapy.providers.inmemory import InMemoryClusters

INFRASTRUCTURE: Final[Document] = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
    "kind": "DevCluster",
    "spec": {"backend": {"inMemory": {}}},
}
"""The infrastructure of clusters, without a name."""
DOMAINS: Final = (
    FailureDomain(name="north", control_plane=True),
    FailureDomain(name="south", control_plane=True),
    FailureDomain(name="west", control_plane=False),
)
"""Their failure domains."""


_MACHINES: Final[Document] = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
    "kind": "DevMachineTemplate",
    "metadata": {"name": "conformance"},
    "spec": {"template": {"spec": {"backend": {"inMemory": {}}}}},
}


def with_core_controllers(provider: ProviderUnderTest) -> ProviderUnderTest:
    """Add the core controllers if the provider makes control planes of Machines. Its machines are
    kapy's in-memory ones, whatever machines its examples have.
    """
    kinds, launcher = tuple(map(_with_in_memory_machines, provider.kinds)), provider.launcher
    if kinds == provider.kinds or not launcher.restarts:
        return provider
    among = WithCoreControllers(
        lambda _: launcher, network=launcher.network, restarts=launcher.restarts
    )
    return replace(provider, kinds=kinds, launcher=among, extras=[*provider.extras, _MACHINES])


def _with_in_memory_machines(kind: Kind) -> Kind:
    template = value_at(kind.example, ("spec", "machineTemplate"))
    if kind.role != "control-plane" or not isinstance(template, dict):
        return kind
    path = ControlPlane.infrastructure_ref.path(kind.contract).split(".")[2:]
    changed = {**template, **_nested_patch(template, path, _template_reference(kind.contract))}
    spec = {**kind.example["spec"], "machineTemplate": changed}
    return replace(kind, example={**kind.example, "spec": spec})


def _nested_patch(inside: Document, path: list[str], value: Document) -> Document:
    """Return a patch that sets the field at a path."""
    first, *rest = path
    return {
        first: {**(inside.get(first) or {}), **_nested_patch(inside.get(first) or {}, rest, value)}
        if rest
        else value
    }


def _template_reference(contract: Version) -> Document:
    """Return a reference to the in-memory machine template in the form of a contract."""
    result = reference(_MACHINES)
    if contract is Version.V1BETA2:
        return result
    return {"apiVersion": _MACHINES["apiVersion"], "kind": result["kind"], "name": result["name"]}


@dataclass(frozen=True)
class WithCoreControllers:
    """Launches a provider together with the core controllers. launcher_for: returns the launcher
    for these machines.
    """

    launcher_for: Callable[[InMemoryClusters], Launcher]
    network: bool = False
    restarts: bool = True

    @asynccontextmanager
    async def running(self, environment: Environment, limits: Limits) -> AsyncIterator[None]:
        """Run the provider and the core controllers while the context is open."""
        async with AsyncExitStack() as stack:
            controllers = _controllers(environment, sockets=self.network)
            machines = await stack.enter_async_context(controllers)
            await stack.enter_async_context(
                self.launcher_for(machines).running(environment, limits)
            )
            yield


@asynccontextmanager
async def _controllers(
    environment: Environment, *, sockets: bool
) -> AsyncIterator[InMemoryClusters]:
    from kapy.apps.transports import over_network
    from kapy.providers.inmemory import InMemoryClusters

    runtime = Runtime.on(
        environment.client.transport,
        clock=environment.clock,
        field_manager=MANAGER,
        random=Random(11),
    )
    machines = InMemoryClusters(
        clock=environment.clock,
        elsewhere=over_network if sockets else None,
        failure_domains=DOMAINS,
    )
    services = _add_controllers(runtime, machines)
    if sockets:
        machines.listen()
        services["workload clusters"] = machines.serve
    async with run_services(runtime=runtime.run, **services):
        await runtime.working.wait()
        yield machines


def _add_controllers(runtime: Runtime, machines: InMemoryClusters) -> dict[str, Service]:
    from kapy.core.cluster.controller import add_to as add_clusters
    from kapy.core.machine.controller import add_to as add_machines
    from kapy.providers.inmemory import add_to as add_in_memory
    from kapy.providers.kubeadm.bootstrap.controller import add_to as add_bootstrap
    from kapy.remote.cluster_cache import ClusterCache

    cluster_cache = ClusterCache(runtime, dial=machines.dial)
    machines.subscribe(cluster_cache.trigger_probe)
    add_clusters(runtime, cluster_cache)
    add_machines(runtime, cluster_cache)
    add_bootstrap(runtime, cluster_cache)
    add_in_memory(runtime, machines)
    return {"connections": cluster_cache.run}
