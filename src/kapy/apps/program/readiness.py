"""The readiness of a program, and its other problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kapy.engine.runtime import Runtime
from kapy.kube.errors import Forbidden, NotFound
from kapy.kube.names import Resource

Message = Callable[[], str]
"""Describes the problem of a part of the program, "" if it has none."""
_UNREADABLE: Final = (NotFound, Forbidden)
"""The reason why a resource that the server serves cannot be read."""


def no_message() -> str:
    """Return "": there is no problem."""
    return ""


class Readiness:
    """The readiness of a program, reported at `/readyz`.

    served: returns why webhooks cannot be called. pace: returns why the API server limits requests.
    converts: the program may itself convert the objects that it reads. API servers only call it
    when it is ready, so it does not wait for resources that the API server fails to read.

    A program that has read all resources once stays ready as long as the API server is available:
    if a CRD is removed, or rights for a new one are missing, the webhooks of all other kinds must
    still be called. Such problems are remarks.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        served: Message = no_message,
        pace: Message = no_message,
        converts: bool = False,
    ) -> None:
        self._runtime = runtime
        self._served = served
        self._pace = pace
        self._converts = converts
        self._has_read = False

    @property
    def missing(self) -> str:
        """Return what the program waits for, "" if it is ready."""
        return self._served() or self._unavailable_server or self._unread_resources

    @property
    def remarks(self) -> str:
        """Problems that do not affect readiness, "" for none."""
        return "; ".join([failure for failure in (self._pace(), *self._failures()) if failure])

    @property
    def _unavailable_server(self) -> str:
        reach = self._runtime.availability
        return "" if reach is None else reach.unavailable_reason

    @property
    def _unread_resources(self) -> str:
        if self._has_read:
            return ""
        failures = dict(self._runtime.cache.failures())
        waiting = sorted(
            resource.group_resource
            for resource in self._runtime.cache.unsynced_resources()
            if not (
                self._converts
                and resource in failures
                and not isinstance(failures[resource], _UNREADABLE)
            )
        )
        self._has_read = not waiting
        reason = {
            resource.group_resource: _read_error(resource, error)
            for resource, error in failures.items()
        }
        messages = [
            f"not read yet: {', '.join(waiting)}",
            *(reason[item] for item in waiting if item in reason),
        ]
        return "; ".join(messages) if waiting else ""

    def _failures(self) -> Iterator[str]:
        for resource, error in self._runtime.cache.failures():
            yield _read_error(resource, error)


def _read_error(resource: Resource, error: Exception) -> str:
    """Return why a resource cannot be read, and the remedy."""
    if isinstance(error, NotFound):
        return (
            f"there is no CRD {resource.group_resource} with version {resource.version}: install "
            "the provider that has it with `kapy init`, or `kapy crds | kubectl apply -f -`"
        )
    if isinstance(error, Forbidden):
        return (
            f"{error}: this program's ClusterRole needs get, list and watch of "
            f"{resource.plural} in the API group {resource.group!r}"
        )
    return f"{resource.group_resource}: {error}"
