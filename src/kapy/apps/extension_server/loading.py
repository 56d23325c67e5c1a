"""Finds an extension by `MODULE:NAME`, as ASGI servers find applications."""

from __future__ import annotations

from kapy.apps.modules import NoModule, module_at
from kapy.hooks.application import Application
from kapy.hooks.extension import Extension


class NoExtension(NoModule):
    """There is no extension under that name."""


def application_at(place: str) -> Application:
    """Return the application of `MODULE:NAME`, where NAME is an Extension or an Application, by
    default `extension`.

    Modules are searched in the current folder first. Raises NoModule and NoExtension.
    """
    module, _, name = place.partition(":")
    result = _module_attribute(module, name or "extension")
    if isinstance(result, Extension):
        return Application(result)
    if isinstance(result, Application):
        return result
    raise NoExtension(
        f"{place} is {type(result).__name__}; it has to be a kapy.hooks.Extension or Application"
    )


def _module_attribute(module: str, name: str) -> object:
    result = module_at(module, "extension")
    try:
        return getattr(result, name)
    except AttributeError:
        there = sorted(
            key for key, value in vars(result).items() if isinstance(value, Extension | Application)
        )
        hint = f"there is {', '.join(there)}" if there else "there is no Extension in it"
        raise NoExtension(f"{module} has no {name}; {hint}") from None
