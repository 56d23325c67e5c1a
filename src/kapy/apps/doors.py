"""The clients of runtime extensions that the controllers of one program share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kapy._aio.services import Service
from kapy.apps.settings import Controlling
from kapy.engine.runtime import Runtime

if TYPE_CHECKING:
    from kapy.apps.extensions import Extensions
    from kapy.apps.extensions.in_place import InPlace
    from kapy.hooks.transport import HookTransport


@dataclass(frozen=True, slots=True)
class Doors:
    """The clients of runtime extensions. updates: for in-place updates of Machines, None if that
    gate is closed."""

    called: Extensions
    updates: InPlace | None


def extension_doors(
    runtime: Runtime,
    told: Controlling,
    post: Callable[[], HookTransport],
    *,
    reconciled: bool = True,
) -> Doors | None:
    """The clients of extensions; None if the RuntimeSDK gate is closed.

    reconciled: this program also reconciles their ExtensionConfigs.
    """
    gates = told.manager.gates
    if not gates.runtime_sdk:
        return None
    from kapy.apps.extensions import extensions  # all hooks: most planes have no extension
    from kapy.core.extensionconfig.controller import add_to

    longest = int(told.extensions.longest.total_seconds())
    called = extensions(runtime, post(), longest=longest)
    if reconciled:
        add_to(runtime, called.caller)
    return Doors(called, called.in_place if gates.in_place_updates else None)


def services_of(doors: Doors | None) -> dict[str, Service]:
    """The services to run in a program that calls extensions."""
    return {} if doors is None else {"extensions": doors.called.caller.run}
