"""The flags that select providers by type, shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

import click

from kapy.cli.flags import strings
from kapy.clusterctl.provider import ProviderType

F = TypeVar("F", bound=Callable[..., Any])

_TYPES: Final = {
    "core": ProviderType.CORE,
    "infrastructure": ProviderType.INFRASTRUCTURE,
    "bootstrap": ProviderType.BOOTSTRAP,
    "control_plane": ProviderType.CONTROL_PLANE,
    "ipam": ProviderType.IPAM,
    "runtime_extension": ProviderType.RUNTIME_EXTENSION,
    "addon": ProviderType.ADDON,
}
NAMES: Final = (
    "--core, --bootstrap, --control-plane, --infrastructure, --ipam, --extension, --addon"
)
"""The flags as upstream's errors list them."""


def provider_flags(purpose: str) -> Callable[[F], Any]:
    """Add these flags to a command; it gets `names`: the values by type.

    purpose: what the command does with the providers, as in "to add to the management cluster".
    """
    what = f"providers and versions (e.g. aws:v2.11.0) {purpose}."
    options = (
        click.option(
            "--core",
            default="",
            metavar="string",
            help=f"Core provider and version (e.g. cluster-api:v1.14.0) {purpose}.",
        ),
        strings("-i", "--infrastructure", help=f"Infrastructure {what}"),
        strings("-b", "--bootstrap", help=f"Bootstrap {what}"),
        strings("-c", "--control-plane", help=f"Control plane {what}"),
        strings("--ipam", help=f"IPAM {what}"),
        strings("--runtime-extension", help=f"Runtime extension {what}"),
        strings("--addon", help=f"Add-on {what}"),
    )

    def decorated(function: F) -> Any:
        @wraps(function)
        def gathered(**parameters: Any) -> Any:
            names = {of_type: parameters.pop(name) for name, of_type in _TYPES.items()}
            core = names[ProviderType.CORE]
            names[ProviderType.CORE] = (core,) if core else ()
            return function(
                names={of_type: some for of_type, some in names.items() if some}, **parameters
            )

        command: Any = gathered
        for option in reversed(options):
            command = option(command)
        return command

    return decorated
