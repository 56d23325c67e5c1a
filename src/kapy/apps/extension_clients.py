"""The clients of runtime extensions that the controllers of one program share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kapy._aio.services import Service
from kapy.apps.settings import ControllerConfig
from kapy.engine.runtime import Runtime

if TYPE_CHECKING:
    from kapy.apps.extensions import Extensions
    from kapy.apps.extensions.in_place import InPlace
    from kapy.hooks.transport import HookTransport


@dataclass(frozen=True, slots=True)
class ExtensionClients:
    """The clients of runtime extensions. in_place: the client for in-place updates of Machines,
    None if that feature gate is closed.
    """

    extensions: Extensions
    in_place: InPlace | None


def extension_clients(
    runtime: Runtime,
    config: ControllerConfig,
    post: Callable[[], HookTransport],
    *,
    reconciled: bool = True,
) -> ExtensionClients | None:
    """Return the clients of runtime extensions; None if the RuntimeSDK gate is closed.

    reconciled: whether this program also reconciles the ExtensionConfigs.
    """
    gates = config.manager.gates
    if not gates.runtime_sdk:
        return None
    from kapy.apps.extensions import extensions  # imports all hooks; most planes have no extension
    from kapy.core.extensionconfig.controller import add_to

    max_timeout = int(config.extensions.max_timeout.total_seconds())
    called = extensions(runtime, post(), max_timeout=max_timeout)
    if reconciled:
        add_to(runtime, called.caller)
    return ExtensionClients(called, called.in_place if gates.in_place_updates else None)


def services_of(clients: ExtensionClients | None) -> dict[str, Service]:
    """Return the services to run in a program that calls extensions."""
    return {} if clients is None else {"extensions": clients.extensions.caller.run}
