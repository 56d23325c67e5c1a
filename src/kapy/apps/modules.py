"""Imports users' Python modules by name, as ASGI servers find applications."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Final

from kapy.kube.errors import KapyError

_OWN_PACKAGES: Final = str(Path(__file__).parents[1])


class NoModule(KapyError):
    """A module cannot be imported; the message gives the reason."""


def module_at(name: str, expected: str) -> ModuleType:
    """Return a module, searched in the current folder first. expected: the object expected in it.
    Raises NoModule.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            raise NoModule(
                f"there is no module {error.name} in {here} or among installed packages; say "
                f"where the {expected} is with MODULE:NAME"
            ) from None
        raise NoModule(f"{name} needs {error.name}, which is not installed") from None
    except (ImportError, SyntaxError) as error:
        raise NoModule(f"{name} cannot be imported: {error}") from None
    except Exception as error:
        # Foreign code, which may raise any exception.
        raise NoModule(f"{name} cannot be imported: {_error_location(error)}") from None


def _error_location(error: Exception) -> str:
    """Return the error, and its location in code outside kapy."""
    frames = extract_tb(error.__traceback__)
    last = next(frame for frame in reversed(frames) if not frame.filename.startswith(_OWN_PACKAGES))
    return f"{error} ({type(error).__name__} in {last.filename}, line {last.lineno})"
