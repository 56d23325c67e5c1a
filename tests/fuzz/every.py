"""All harnesses by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.fuzz import (
    of_bodies,
    of_boot_data,
    of_clusters,
    of_files,
    of_formats,
    of_requests,
    of_values,
)
from tests.fuzz.harness import Harness

HARNESSES: Final[Mapping[str, Harness]] = {
    harness.name: harness
    for module in (
        *(of_values, of_formats, of_requests, of_bodies),
        *(of_files, of_clusters, of_boot_data),
    )
    for harness in module.HARNESSES
}
