"""Migration of custom resources after their CRD has changed (upstream: `controllers/crdmigrator`).

`controller` decides which CRDs have to be reconciled, records that one was, and has both phases:
objects are rewritten in the storage version, and managedFields entries of versions that are not
served are removed. The names of the phases are here.
"""

from __future__ import annotations

from typing import Final, Literal

Phase = Literal["StorageVersionMigration", "CleanupManagedFields"]
PHASES: Final[tuple[Phase, ...]] = ("StorageVersionMigration", "CleanupManagedFields")
