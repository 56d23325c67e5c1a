"""In-process admission plug-ins, called like webhooks but without HTTP, and the chain of a server.

The chain calls them in order: those in process, then the webhooks. A plug-in for one version also
handles the other versions (`Equivalent`). Like a webhook with matchPolicy Equivalent, it sees the
object in its own version, also for a write of the scale subresource. Its defaults are converted
back to the version of the request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field, structs

from kapy.apiserver.errors import StorageFailure
from kapy.apiserver.resources.kind import Kind
from kapy.kube import Document
from kapy.kube.http import User
from kapy.kube.names import Resource

Result = TypeVar("Result")


class Compute(Protocol):
    """A function that runs a pure computation, for a large request outside of the event loop."""

    def __call__(self, work: Callable[[], Result], /) -> Awaitable[Result]: ...


async def _compute_inline(work: Callable[[], Result], /) -> Result:
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
    compute: Compute = _compute_inline
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


_Converter: TypeAlias = Callable[
    [Sequence[Document], Resource, Resource], Awaitable[Sequence[Document]]
]


class Equivalent:
    """A plug-in for the version `stored`, applied to another version of the resource."""

    __slots__ = ("_converted", "_plugin", "_stored")

    def __init__(self, plugin: Admission, stored: Resource, converted: _Converter) -> None:
        self._plugin = plugin
        self._stored = stored
        self._converted = converted

    def handles(self, resource: Resource, subresource: str) -> bool:
        """Report whether `resource` is a version of the kind that the plug-in handles."""
        stored = replace(self._stored, version=resource.version) == resource
        return stored and self._plugin.handles(self._stored, subresource)

    async def default(self, review: Review) -> Document:
        assert review.new is not None
        try:
            converted = await self._convert_review(review)
        except StorageFailure:
            # Validation reports the wrong field by the schema, or `validate` fails the same way.
            return review.new
        assert converted.new is not None
        filled = await self._plugin.default(converted)
        if filled is converted.new:
            return review.new
        (document,) = await self._converted((filled,), self._stored, review.resource)
        # Identity and managedFields stay those of the request.
        return {**document, "metadata": {**review.new["metadata"], **_keep_annotations(document)}}

    async def validate(self, review: Review) -> Sequence[str]:
        return await self._plugin.validate(await self._convert_review(review))

    async def _convert_review(self, review: Review) -> Review:
        new, old = [await self._convert(review, item) for item in (review.new, review.old)]
        return structs.replace(review, resource=self._stored, new=new, old=old)

    async def _convert(self, review: Review, document: Document | None) -> Document | None:
        if document is None:
            return None
        (converted,) = await self._converted((document,), review.resource, self._stored)
        return converted


def _keep_annotations(document: Document) -> Document:
    metadata = document["metadata"]
    return {key: metadata[key] for key in ("labels", "annotations") if key in metadata}


class AdmissionChain:
    """The plug-ins of one server, selected by kind and subresource.

    convert: converts objects for plug-ins that handle another version of their kind.
    has_webhooks: whether admission webhooks are configured. by_resource: the selected plug-ins.
    """

    __slots__ = ("_convert", "_in_process", "_webhooks", "by_resource", "has_webhooks")

    def __init__(self, in_process: Sequence[Admission], convert: _Converter) -> None:
        self._in_process = tuple(in_process)
        self._convert = convert
        self._webhooks: Admission | None = None
        self.has_webhooks = False
        self.by_resource: dict[tuple[Kind, str], tuple[Admission, ...]] = {}

    def set_webhooks(self, webhooks: Admission | None) -> None:
        """Replace the webhooks, the last plug-in of the chain. None: there are none."""
        self._webhooks = webhooks
        self.has_webhooks = webhooks is not None
        self.by_resource.clear()

    def reset(self) -> None:
        """Select the plug-ins again, because the served kinds have changed."""
        self.by_resource.clear()

    def plugins(self, kind: Kind, subresource: str) -> tuple[Admission, ...]:
        """Return the plug-ins that handle writes of a resource."""
        if not self._in_process and self._webhooks is None:
            return ()
        key = (kind, subresource)
        selected = self.by_resource.get(key)
        if selected is None:
            selected = self.by_resource[key] = tuple(self._select(kind, subresource))
        return selected

    def _select(self, kind: Kind, subresource: str) -> Iterator[Admission]:
        for plugin in self._in_process:
            if plugin.handles(kind.resource, subresource):
                yield plugin
            elif kind.storage != kind.resource and plugin.handles(kind.storage, subresource):
                yield Equivalent(plugin, kind.storage, self._convert)
        webhooks = self._webhooks  # webhooks select versions themselves
        if webhooks is not None and webhooks.handles(kind.resource, subresource):
            yield webhooks
