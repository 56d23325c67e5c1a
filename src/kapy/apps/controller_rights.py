"""Limits the plane's controllers to the RBAC rules that their managers have elsewhere.

So a provider whose release lacks a required ClusterRole (one that is aggregated to core's) fails on
a plane as it does on any Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kapy.apiserver.auth.rbac.built_in import BuiltInRights
from kapy.apiserver.server import Server
from kapy.apps.components.rules import READ, rules_of
from kapy.apps.manager.rights import AGGREGATED, rights_of
from kapy.apps.settings import ManagerName, Settings
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.http import User
from kapy.kube.names import DEPLOYMENTS, LEASES, SECRETS
from kapy.sdk.provider import Right

if TYPE_CHECKING:
    from kapy.sdk.provider import Provider

PROGRAMS: Final[tuple[ManagerName, ...]] = (
    "core",
    "bootstrap-kubeadm",
    "control-plane-kubeadm",
    "infrastructure-dev",
)


_CONNECTION_RIGHTS: Final = (Right(SECRETS.group, (SECRETS.plural,), READ),)
"""The rights of every plane: it reads the kubeconfig Secrets of its clusters."""

_INVENTORY_RIGHTS: Final = (
    Right(DEPLOYMENTS.group, (DEPLOYMENTS.plural,), READ),
    Right(DEPLOYMENTS.group, (f"{DEPLOYMENTS.plural}/status",), ("patch",)),
)
"""Rights that a plane needs and no manager has: it writes the status of managers' Deployments."""

_PROCESS_RIGHTS: Final = (
    Right(LEASES.group, (LEASES.plural,), (*READ, "create", "update", "delete")),
)
"""The rights of planes with several processes, which divide the clusters by Leases."""


def limit_rights(server: Server, user: User, settings: Settings, runtime: Runtime) -> None:
    """Restrict the controllers of a runtime, as that user, to the RBAC rules in their managers'
    components."""
    programs = [
        program for program in PROGRAMS if program not in settings.controllers.disabled_managers
    ]
    rights = [right for program in programs for right in rights_of(program)]
    rights += [*_CONNECTION_RIGHTS, *(_INVENTORY_RIGHTS if settings.inventory else ())]
    rights += _PROCESS_RIGHTS if settings.processes != 1 else ()
    rules = [*rules_of(rights), *_provider_rules(settings.providers, runtime)]
    labels = [AGGREGATED[program] for program in programs if program in AGGREGATED]
    server.access.grants.built_in = BuiltInRights(server.store, user, rules, labels)


def _provider_rules(providers: Sequence[Provider], runtime: Runtime) -> Iterator[Document]:
    for provider in providers:
        from kapy.apps.provider.rights import core_rules, rules_of_runtime

        yield from rules_of_runtime(provider, runtime)
        yield from core_rules(provider)
