"""Finds the console of a machine by its infrastructure object, built-in or of a custom provider.

A custom provider is found by `kapy logs machine --provider MODULE`, or by an entry point of the
group `kapy.providers` in its installed package.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import entry_points
from typing import Final

from kapy.apps.provider.loading import provider_at
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.providers.docker.console import ContainerConsole
from kapy.providers.inmemory.console import SimulatedConsole
from kapy.sdk.console import ConsoleUnavailable, MachineConsole

GROUP: Final = "kapy.providers"
_BUILT_IN_CONSOLES: Final[Sequence[Callable[[], MachineConsole]]] = (
    ContainerConsole,
    SimulatedConsole,
)
log = logging.getLogger(__name__)


def console_of(infra: Document, places: Sequence[str] = ()) -> MachineConsole:
    """Return the console of a machine; the caller closes it. places: providers as `MODULE:NAME`.

    Raises ConsoleUnavailable, NoModule.
    """
    named = (provider_at(place).console for place in places)
    for make in (*named, *_BUILT_IN_CONSOLES, *_installed_consoles()):
        if make is None:
            continue
        console = make()
        if console.serves(infra):
            return console
    raise ConsoleUnavailable(
        f"machines of kind {infra['kind']} ({infra['apiVersion']}) cannot be looked into: kapy "
        "knows no console of their provider; name the provider's module with --provider, or "
        "install its package, where it has one (kapy.sdk.console.MachineConsole); else use the "
        "tools of the infrastructure"
    )


def _installed_consoles() -> Iterator[Callable[[], MachineConsole] | None]:
    for point in entry_points(group=GROUP):
        try:
            yield provider_at(point.value).console
        except KapyError as error:  # a broken package must not hide the other consoles
            log.warning("provider %s cannot be asked for a console: %s", point.name, error)
