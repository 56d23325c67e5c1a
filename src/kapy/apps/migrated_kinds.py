"""The CRDs whose objects each manager migrates, and the rights that this needs.

Upstream: the configuration of the CRD migrator in `main.go` of each manager. The program of a
provider made with the SDK migrates all kinds of the provider.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kapy.api.crds import has_status_subresource
from kapy.api.features import FeatureGates
from kapy.api.kinds import KINDS
from kapy.api.names import BOOTSTRAP_GROUP, CONTROL_PLANE_GROUP, INFRASTRUCTURE_GROUP
from kapy.apps.components.rules import READ
from kapy.apps.settings import ControllerConfig, ManagerName
from kapy.kube.names import CRDS, Resource
from kapy.sdk.provider import Provider, Right

if TYPE_CHECKING:
    from kapy.engine.crd_migration import Phase
    from kapy.engine.runtime import Runtime

_OWNERS: Final[Mapping[str, ManagerName]] = {
    BOOTSTRAP_GROUP: "bootstrap-kubeadm",
    CONTROL_PLANE_GROUP: "control-plane-kubeadm",
    INFRASTRUCTURE_GROUP: "infrastructure-dev",
}
"""The manager of each API group; core migrates the kinds of all other groups."""
_WITHOUT_STATUS: Final = frozenset(
    (
        "ClusterResourceSetBinding",
        "MachineDrainRule",
        "IPAddress",
        "KubeadmConfigTemplate",
        "KubeadmControlPlaneTemplate",
        "DevClusterTemplate",
        "DevMachineTemplate",
        "DevMachinePool",
        "DevMachinePoolTemplate",
        "DockerClusterTemplate",
        "DockerMachineTemplate",
        "DockerMachinePool",
        "DockerMachinePoolTemplate",
    )
)
"""Kinds whose objects are rewritten as such. Those of others are rewritten through the status
subresource, for which webhooks are seldom asked."""


def resources_of(name: str) -> Iterator[tuple[Resource, bool]]:
    """The kinds of a manager, and whether they are rewritten through the status subresource."""
    for kind in KINDS:
        if _OWNERS.get(kind.group, "core") == name:
            yield kind.type_of().RESOURCE, kind.name not in _WITHOUT_STATUS


def resources_of_provider(provider: Provider) -> Iterator[tuple[Resource, bool]]:
    """The kinds of a provider, and whether they are rewritten through the status subresource."""
    for kind in provider.kinds:
        status = has_status_subresource(kind)
        yield kind.RESOURCE, status and not kind.RESOURCE.kind.endswith("Template")


def migration_rights(name: str) -> Iterator[Right]:
    """The rights that a manager needs to migrate its kinds."""
    return rights_to_migrate(resources_of(name))


def rights_to_migrate(kinds: Iterable[tuple[Resource, bool]]) -> Iterator[Right]:
    """The rights to migrate kinds. kinds: each with whether its objects are written through the
    status subresource.
    """
    yield Right(CRDS.group, (CRDS.plural,), READ)
    names = []
    for resource, through_status in kinds:
        names.append(resource.group_resource)
        yield Right(resource.group, (resource.plural,), ("get", "list", "patch"))
        if through_status:
            yield Right(resource.group, (f"{resource.plural}/status",), ("patch",))
    own = (CRDS.plural, f"{CRDS.plural}/status")
    yield Right(CRDS.group, own, ("patch",), tuple(names))


def migrated_kinds(names: Iterable[str], gates: FeatureGates) -> dict[str, bool]:
    """Return the CRDs whose objects these managers migrate, and whether through the status
    subresource.
    """
    return _by_name(
        (resource, through_status)
        for name in names
        for resource, through_status in resources_of(name)
        if _is_enabled(resource, gates)
    )


def add_migration(
    runtime: Runtime,
    config: ControllerConfig,
    names: Collection[str],
    providers: Sequence[Provider] = (),
) -> None:
    """Add the migration of the kinds of these managers and providers to a runtime."""
    kinds = migrated_kinds(names, config.manager.gates)
    for provider in providers:
        kinds.update(_by_name(resources_of_provider(provider)))
    # Controllers of these managers watch CRDs with their schemas anyway.
    watches = not {"core", "control-plane-kubeadm"}.isdisjoint(names)
    _add(runtime, kinds, config.skipped_migration_phases, metadata=not watches)


def add_provider_migration(
    runtime: Runtime, provider: Provider, skipped: Collection[Phase] = ()
) -> None:
    """Add the migration of a provider's kinds to the runtime of its own program."""
    _add(runtime, _by_name(resources_of_provider(provider)), skipped, metadata=True)


def _add(
    runtime: Runtime, kinds: Mapping[str, bool], skipped: Collection[Phase], *, metadata: bool
) -> None:
    from kapy.engine.crd_migration.controller import add_crd_migration

    if kinds:
        add_crd_migration(runtime, kinds, skipped=skipped, metadata=metadata)


def _by_name(kinds: Iterable[tuple[Resource, bool]]) -> dict[str, bool]:
    return {resource.group_resource: through_status for resource, through_status in kinds}


def _is_enabled(resource: Resource, gates: FeatureGates) -> bool:
    """Return whether the feature that a kind belongs to is on."""
    if resource.kind == "ClusterClass":
        return gates.cluster_topology
    if resource.kind == "ExtensionConfig":
        return gates.runtime_sdk
    return gates.machine_pool or "MachinePool" not in resource.kind
