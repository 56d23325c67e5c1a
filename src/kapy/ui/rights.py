"""The viewer's rights, as the API server says them (SelfSubjectAccessReview)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.kube import Document
from kapy.kube.errors import Forbidden
from kapy.kube.names import Resource
from kapy.ui.documents import part

_GROUP: Final = "authorization.k8s.io"
_KIND: Final = "SelfSubjectAccessReview"
REVIEWS: Final = Resource(_GROUP, "v1", f"{_KIND.lower()}s", _KIND, namespaced=False)
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
REVIEW_LIFE: Final = timedelta(seconds=10)
"""The time for which an answer is cached: a withdrawn right ends within it."""
MOST_REVIEWS: Final = 2000
MOST_NAMESPACES: Final = 500
"""Namespaces that are tried for a viewer who may not list clusters of all namespaces."""


class Right(NamedTuple):
    """An action on a resource. namespace: "" for all namespaces, name: "" for all objects."""

    verb: str
    resource: Resource
    namespace: str = ""
    name: str = ""


class PathRight(NamedTuple):
    """An action on a path that is no resource (`/hooks/calls`)."""

    verb: str
    path: str


class Rights:
    """Answers whether the viewer may do something. Answers are kept for a short time."""

    def __init__(self, client: Client, clock: Clock, namespaces: Sequence[str] = ()) -> None:
        self._client = client
        self._clock = clock
        self._namespaces = namespaces
        self._answers: dict[Right | PathRight, tuple[datetime, bool]] = {}

    async def has(self, right: Right | PathRight) -> bool:
        """Report whether the viewer has a right. Raises ApiError, Unreachable."""
        now = self._clock()
        cached = self._answers.get(right)
        if cached is not None and now - cached[0] < REVIEW_LIFE:
            return cached[1]
        # Few roles restrict names: one review for all objects replaces one for each.
        allowed = False
        if isinstance(right, Right) and right.name:
            allowed = await self.has(right._replace(name=""))
        if not allowed:
            answer = await self._client.create(REVIEWS, _review(right))
            allowed = bool(part(answer, "status").get("allowed"))
        self._remember(right, now, allowed=allowed)
        return allowed

    async def namespaces_with(self, verb: str, resource: Resource) -> tuple[list[str], int]:
        """Return the namespaces in which the viewer has a right ([""]: all), and the number of
        unchecked ones. Raises ApiError, Unreachable."""
        if await self.has(Right(verb, resource)):
            return [""], 0
        names = await self._namespace_names()
        tried = names[:MOST_NAMESPACES]
        reviews = [partial(self.has, Right(verb, resource, name)) for name in tried]
        answers = await bounded_gather(reviews)
        allowed = [name for name, answer in zip(tried, answers, strict=True) if answer]
        return allowed, len(names) - len(tried)

    async def _namespace_names(self) -> list[str]:
        try:
            listed = (await self._client.list(NAMESPACES, metadata=True)).items
        except Forbidden:
            return sorted(self._namespaces)
        return sorted({*self._namespaces, *(namespace["metadata"]["name"] for namespace in listed)})

    def _remember(self, right: Right | PathRight, now: datetime, *, allowed: bool) -> None:
        if len(self._answers) >= MOST_REVIEWS:
            fresh = {k: v for k, v in self._answers.items() if now - v[0] < REVIEW_LIFE}
            excess = max(len(fresh) + 1 - MOST_REVIEWS, 0)
            self._answers = dict(list(fresh.items())[excess:])
        self._answers[right] = (now, allowed)


def _review(right: Right | PathRight) -> Document:
    attributes: dict[str, str] = right._asdict()
    if isinstance(right, Right):
        plural, _, subresource = right.resource.plural.partition("/")
        group, version = right.resource.group, right.resource.version
        attributes |= {"group": group, "version": version}
        attributes |= {"resource": plural, "subresource": subresource}
    kind = "nonResourceAttributes" if isinstance(right, PathRight) else "resourceAttributes"
    return {
        "apiVersion": REVIEWS.api_version,
        "kind": REVIEWS.kind,
        "metadata": {},
        "spec": {kind: {key: value for key, value in attributes.items() if value}},
    }
