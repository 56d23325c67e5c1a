"""Built-in admission: called where webhooks are called, without HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, TypeVar

from msgspec import Struct, field

from kapy.kube import Document
from kapy.kube.http import User
from kapy.kube.names import Resource

Result = TypeVar("Result")


class Compute(Protocol):
    """Does a pure computation: of a large request beside the event loop."""

    def __call__(self, work: Callable[[], Result], /) -> Awaitable[Result]: ...


async def compute_here(work: Callable[[], Result], /) -> Result:
    """Do it here and now."""
    return work()


class Review(Struct):  # each write makes two, and C makes a Struct
    """One write as admission sees it (upstream's AdmissionReview, without HTTP).

    options: returns them as the API has them (`CreateOptions` …). warnings: sentences to the
    client, which a refusal carries, too. large: pure computations about the objects are left to
    `compute`.
    """

    operation: Literal["CREATE", "UPDATE", "DELETE"]
    resource: Resource
    subresource: str
    namespace: str
    name: str
    new: Document | None
    old: Document | None
    user: User
    dry_run: bool
    options: Callable[[], Document]
    warnings: list[str] = field(default_factory=list)
    compute: Compute = compute_here
    large: bool = False


class Admission(Protocol):
    """A plug-in. One that looks at writes of a resource sees all of them."""

    def handles(self, resource: Resource, subresource: str) -> bool:
        """Whether writes of this resource concern this plug-in; answers are remembered."""
        ...

    async def default(self, review: Review) -> Document:
        """The object with defaults filled in: a changed copy, or `review.new` itself."""
        ...

    async def validate(self, review: Review) -> Sequence[str]:
        """Warnings. Raises an ApiError (Invalid, Forbidden …) to refuse."""
        ...


def denied(webhook: str, why: str) -> str:
    """The sentence in which a server tells that an admission webhook refused."""
    by = f'admission webhook "{webhook}" denied the request'
    return f"{by}: {why}" if why else f"{by} without explanation"


def reason_of(told: str) -> str:
    """What a webhook said, of which `denied` made the sentence."""
    by, said, why = told.partition(" denied the request: ")
    return why if said and by.startswith("admission webhook ") else told
