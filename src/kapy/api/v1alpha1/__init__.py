"""Differences of the kinds in v1alpha1, for conversion and for the CRDs of that version."""

from collections.abc import Mapping
from typing import Final

HOMES: Final[Mapping[str, str]] = {
    "extension_config": "kinds",
    "ip_address": "kinds",
}
"""The module here that declares the differences of the Structs in a module of `kapy.api`."""
