"""What keeps a topology from being reconciled, in sentences for TopologyReconciled.

* CannotReconcile      something is in the way; the message says which object and why
  - NotReconciled      the ClusterClass is not there, or not ready to be used; its change wakes us
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kapy.kube import Document
from kapy.kube.errors import ApiError, KapyError
from kapy.kube.names import GroupKind, split_api_version


class CannotReconcile(KapyError):
    """Something is in the way of the topology."""


class NotReconciled(CannotReconcile):
    """There is no ClusterClass, or its status is not about the class as it is, or not good."""


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Names what failed, in front of why."""
    try:
        yield
    except KapyError as error:
        raise CannotReconcile(f"{what}: {error}") from error


def creation_error(intent: Document, error: ApiError) -> CannotReconcile:
    """Why an object cannot be created: kind, field and rule. Its name is left out, being made up
    anew with every state of the class."""
    kind = GroupKind(split_api_version(intent["apiVersion"])[0], intent["kind"])
    causes = (error.details or {}).get("causes") or ()
    told = " ".join(
        f"{one.get('reason')}: {one.get('field')}: {one.get('message')}" for one in causes
    )
    return CannotReconcile(f"failed to create {kind}: {told or error}")
