"""Registered names of handlers: the handler's own name, a dot, and its ExtensionConfig's name."""

from __future__ import annotations

from kapy.hooks.errors import BadAddress


def registered_name(handler: str, extension: str) -> str:
    """Return the name of a handler in the registry, in ClusterClasses and in status."""
    return f"{handler}.{extension}"


def extension_of(name: str) -> str:
    """Return the ExtensionConfig of a registered name. Raises BadAddress if the name is invalid."""
    parts = name.split(".")
    if len(parts) != 2:
        raise BadAddress(
            f"registered handler name {name} was not in the expected format "
            "(`HANDLER_NAME.EXTENSION_NAME)"
        )
    return parts[1]
