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
    found = getattr(module, attribute, None)
    if isinstance(found, Provider):
        return found
    there = sorted(key for key, one in vars(module).items() if isinstance(one, Provider))
    if found is not None:
        raise NoProvider(
            f"{name}:{attribute} is a {type(found).__name__}; it has to be a kapy.sdk.Provider"
        )
    hint = f"there is {', '.join(there)}" if there else "there is no Provider in it"
    raise NoProvider(f"{name} has no {attribute}; {hint}")
