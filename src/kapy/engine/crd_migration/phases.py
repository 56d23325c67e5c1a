"""The phases of a CRD migration."""

from __future__ import annotations

from typing import Final, Literal

Phase = Literal["StorageVersionMigration", "CleanupManagedFields"]
PHASES: Final[tuple[Phase, ...]] = ("StorageVersionMigration", "CleanupManagedFields")
