"""Names of handlers among all extensions: the handler's own, a dot, its ExtensionConfig's."""

from __future__ import annotations

from kapy.hooks.errors import BadAddress


def registered_name(handler: str, extension: str) -> str:
    """What a handler is called in registry, ClusterClasses and status."""
    return f"{handler}.{extension}"


def extension_of(name: str) -> str:
    """The ExtensionConfig of a registered name. Raises BadAddress if it is none."""
    parts = name.split(".")
    if len(parts) != 2:
        raise BadAddress(
            f"registered handler name {name} was not in the expected format "
            "(`HANDLER_NAME.EXTENSION_NAME)"
        )
    return parts[1]
