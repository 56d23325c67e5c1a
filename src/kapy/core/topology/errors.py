"""Errors that prevent the reconciliation of a topology, as messages for TopologyReconciled.

* CannotReconcile      an error; the message names the object and the reason
  - NotReconciled      the ClusterClass does not exist or is not reconciled; its change enqueues the
Cluster
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kapy.kube import Document
from kapy.kube.errors import ApiError, KapyError
from kapy.kube.names import GroupKind, split_api_version


class CannotReconcile(KapyError):
    """An error prevents the reconciliation of the topology."""


class NotReconciled(CannotReconcile):
    """The ClusterClass does not exist, or its status is outdated or reports errors."""


@contextmanager
def name_failed_step(step: str) -> Iterator[None]:
    """Prefix errors with the failed action."""
    try:
        yield
    except KapyError as error:
        raise CannotReconcile(f"{step}: {error}") from error


def creation_error(intent: Document, error: ApiError) -> CannotReconcile:
    """Return why an object cannot be created: kind, field and rule. Its name is left out, since it
    changes with each attempt.
    """
    kind = GroupKind(split_api_version(intent["apiVersion"])[0], intent["kind"])
    causes = (error.details or {}).get("causes") or ()
    result = " ".join(
        f"{cause.get('reason')}: {cause.get('field')}: {cause.get('message')}" for cause in causes
    )
    return CannotReconcile(f"failed to create {kind}: {result or error}")
