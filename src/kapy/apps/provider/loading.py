"""Finding a provider by `MODULE:NAME`, as ASGI servers find applications."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Final

from kapy.kube.errors import KapyError
from kapy.sdk.provider import Provider

NAME: Final = "PROVIDER"


class NoProvider(KapyError):
    """There is no provider at that place."""


def provider_at(place: str) -> Provider:
    """The provider of `MODULE:NAME`; NAME is `PROVIDER` unless said.

    Modules are looked for in the current folder first. Raises NoProvider.
    """
    module, _, name = place.partition(":")
    name = name or NAME
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is not None and module.startswith(error.name):
            raise NoProvider(
                f"there is no module {error.name} in {here} or among installed packages; say where "
                "the provider is with MODULE:NAME"
            ) from None
        raise NoProvider(f"{module} needs {error.name}, which is not installed") from None
    except AttributeError:
        raise NoProvider(
            f"{module} has no {name}; say MODULE:NAME of a kapy.sdk.Provider"
        ) from None
    except (ImportError, SyntaxError, ValueError) as error:
        raise NoProvider(f"{module} cannot be imported: {error}") from None
    if not isinstance(found, Provider):
        raise NoProvider(f"{place} is a {type(found).__name__}; it has to be a kapy.sdk.Provider")
    return found
