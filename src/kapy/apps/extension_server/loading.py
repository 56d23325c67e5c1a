"""Finding an extension by `MODULE:NAME`, as ASGI servers find applications."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from kapy.hooks.application import Application
from kapy.hooks.extension import Extension
from kapy.kube.errors import KapyError


class NoExtension(KapyError):
    """There is no extension at that place."""


def application_at(place: str) -> Application:
    """The application of `MODULE:NAME`, where NAME is an Extension or an Application; it is
    `extension` unless said. Modules are looked for in the current folder first. Raises NoExtension.
    """
    module, _, name = place.partition(":")
    found = _named(module, name or "extension")
    if isinstance(found, Extension):
        return Application(found)
    if isinstance(found, Application):
        return found
    raise NoExtension(
        f"{place} is {type(found).__name__}; it has to be a kapy.hooks.Extension or Application"
    )


def _named(module: str, name: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and module.startswith(error.name):
            raise NoExtension(
                f"there is no module {error.name} in {here} or among installed packages; say "
                "where the extension is with MODULE:NAME"
            ) from None
        raise NoExtension(f"{module} needs {error.name}, which is not installed") from None
    except (ImportError, SyntaxError, ValueError) as error:
        raise NoExtension(f"{module} cannot be imported: {error}") from None
    try:
        return getattr(found, name)
    except AttributeError:
        there = sorted(
            key for key, one in vars(found).items() if isinstance(one, Extension | Application)
        )
        hint = f"there is {', '.join(there)}" if there else "there is no Extension in it"
        raise NoExtension(f"{module} has no {name}; {hint}") from None
