"""Names of a public module that are imported from their modules at their first use.

A program that uses a few names of `kapy.sdk` imports their modules only, and not sixty others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def late_imports(
    namespace: dict[str, Any], names: Mapping[str, Sequence[str]]
) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that imports names at their first use. namespace: the
    module's `globals()`. names: the imported names, by the module that defines them.
    """
    homes = {name: home for home, all_names in names.items() for name in all_names}

    def __getattr__(name: str) -> Any:  # noqa: N807
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        module = import_module(home)
        value = getattr(module, name, None) or import_module(f"{home}.{name}")
        namespace[name] = value
        return value

    return __getattr__
