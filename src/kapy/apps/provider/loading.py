"""Loads a provider by `MODULE:NAME`."""

from __future__ import annotations

from typing import Final

from kapy.apps.modules import NoModule, module_at
from kapy.sdk.provider import Provider

NAME: Final = "PROVIDER"


class NoProvider(NoModule):
    """There is no provider with that name."""


def provider_at(place: str) -> Provider:
    """Return the provider of `MODULE:NAME`; NAME defaults to `PROVIDER`. Modules are searched in
    the current folder first. Raises NoModule, NoProvider.
    """
    name, _, attribute = place.partition(":")
    module, attribute = module_at(name, "provider"), attribute or NAME
    result = getattr(module, attribute, None)
    if isinstance(result, Provider):
        return result
    there = sorted(key for key, value in vars(module).items() if isinstance(value, Provider))
    if result is not None:
        raise NoProvider(
            f"{name}:{attribute} is a {type(result).__name__}; it has to be a kapy.sdk.Provider"
        )
    hint = f"there is {', '.join(there)}" if there else "there is no Provider in it"
    raise NoProvider(f"{name} has no {attribute}; {hint}")
