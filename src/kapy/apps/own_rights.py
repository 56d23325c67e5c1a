"""Limits the plane's controllers to the RBAC rules that their managers have elsewhere.

So a provider whose release lacks a required ClusterRole (one that is aggregated to core's) fails on
a plane as it does on any Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kapy.apiserver.rbac.built_in import BuiltInRights
from kapy.apiserver.server import Server
from kapy.apps.components.rules import READ, rules_of
from kapy.apps.manager.rights import AGGREGATED, rights_of
from kapy.apps.settings import ManagerName, Settings
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.http import User
from kapy.kube.names import DEPLOYMENTS, SECRETS
from kapy.sdk.provider import Right

if TYPE_CHECKING:
    from kapy.sdk.provider import Provider

PROGRAMS: Final[tuple[ManagerName, ...]] = (
    "core",
    "bootstrap-kubeadm",
    "control-plane-kubeadm",
    "infrastructure-dev",
)


_OF_CONNECTIONS: Final = (Right(SECRETS.group, (SECRETS.plural,), READ),)
"""The rights of every plane: it reads the kubeconfig Secrets of its clusters."""

_OF_INVENTORY: Final = (
    Right(DEPLOYMENTS.group, (DEPLOYMENTS.plural,), READ),
    Right(DEPLOYMENTS.group, (f"{DEPLOYMENTS.plural}/status",), ("patch",)),
)
"""What a plane does that no manager does: it tells of the Deployments that stand for these."""


def limit(server: Server, user: User, settings: Settings, runtime: Runtime) -> None:
    """Restrict the controllers of a runtime, as that user, to the RBAC rules in their managers'
    components."""
    programs = [one for one in PROGRAMS if one not in settings.controlling.without]
    rights = [right for one in programs for right in rights_of(one)]
    rights += [*_OF_CONNECTIONS, *(_OF_INVENTORY if settings.inventory else ())]
    rules = [*rules_of(rights), *_of_providers(settings.providers, runtime)]
    labels = [AGGREGATED[one] for one in programs if one in AGGREGATED]
    server.access.grants.built_in = BuiltInRights(server.store, user, rules, labels)


def _of_providers(providers: Sequence[Provider], runtime: Runtime) -> Iterator[Document]:
    for provider in providers:
        from kapy.apps.provider.rights import core_rules, rules_on

        yield from rules_on(provider, runtime)
        yield from core_rules(provider)
