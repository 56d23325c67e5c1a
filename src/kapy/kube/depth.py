"""The maximum nesting of JSON and YAML values from outside the program.

This module imports nothing, so that commands which read YAML start without `msgspec`.
"""

from __future__ import annotations

from typing import Final

MAX_DEPTH: Final = 300
"""The most levels of a value: Kubernetes' own kinds need 30, and recursion can handle this
depth.
"""
