"""In-process admission plug-ins, called like webhooks but without HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, TypeVar

from msgspec import Struct, field

from kapy.kube import Document
from kapy.kube.http import User
from kapy.kube.names import Resource

Result = TypeVar("Result")


class Compute(Protocol):
    """A function that runs a pure computation, for a large request outside of the event loop."""

    def __call__(self, work: Callable[[], Result], /) -> Awaitable[Result]: ...


async def compute_inline(work: Callable[[], Result], /) -> Result:
    """Run the computation in the event loop."""
    return work()


class Review(Struct):  # every write creates two; a Struct is created in C
    """One write in the form that admission plug-ins receive (upstream's AdmissionReview, without
    HTTP).

    options: returns the options of the request (`CreateOptions` …). warnings: the warnings for the
    client, which are also sent with a refusal. large: whether `compute` should run pure
    computations about the objects.
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
    compute: Compute = compute_inline
    large: bool = False


class Admission(Protocol):
    """An admission plug-in, which is called for all writes of the resources that it handles."""

    def handles(self, resource: Resource, subresource: str) -> bool:
        """Report whether this plug-in handles writes of this resource; results are cached."""
        ...

    async def default(self, review: Review) -> Document:
        """Return the object with defaults: a changed copy, or `review.new` itself."""
        ...

    async def validate(self, review: Review) -> Sequence[str]:
        """Validate the write and return warnings. Raises an ApiError (Invalid, Forbidden …) to
        refuse.
        """
        ...


def denial_message(webhook: str, why: str) -> str:
    """Return the message about a refusal by an admission webhook."""
    by = f'admission webhook "{webhook}" denied the request'
    return f"{by}: {why}" if why else f"{by} without explanation"


def denial_reason(value: str) -> str:
    """Return the webhook's own message from a message made by `denial_message`."""
    by, result, why = value.partition(" denied the request: ")
    return why if result and by.startswith("admission webhook ") else value
