"""Holds a deletion until the annotation `example.com/backup` says that there is a backup.

Who makes backups watches for Clusters that are being deleted, and writes the annotation.
"""

from kapy.hooks import (
    BEFORE_CLUSTER_DELETE,
    BeforeClusterDeleteRequest,
    Extension,
    RetryResponse,
)

ANNOTATION = "example.com/backup"
RETRY_SECONDS = 5

extension = Extension()


@extension.handles(BEFORE_CLUSTER_DELETE, name="backup")
async def backup(request: BeforeClusterDeleteRequest) -> RetryResponse:
    match request.cluster["metadata"].get("annotations", {}).get(ANNOTATION, ""):
        case "done" | "not-needed":
            return RetryResponse()
        case "failed":
            return RetryResponse.refuse(
                f"the backup failed; write {ANNOTATION}: not-needed to delete without one"
            )
        case _:
            return RetryResponse.wait(RETRY_SECONDS, "a backup is being made")
