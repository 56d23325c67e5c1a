"""Admission webhooks, the last of a server's admission plug-ins.

Mutating webhooks are called one after the other. If one of them changes the object, the in-process
plug-ins run again, and then those webhooks with reinvocationPolicy IfNeeded whose object was
changed by a later plug-in. Validating webhooks are called concurrently, and the first refusal
counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from msgspec import structs

from kapy.apiserver.admission import Review
from kapy.apiserver.metadata import new_uid
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import StorageFailure, details, no_such_resource
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.structs import Misfit
from kapy.apiserver.traffic.counts import ON_WEBHOOKS
from kapy.apiserver.traffic.hooks import HookCounts
from kapy.apiserver.verbs.scaling import replicas_set, scale_seen
from kapy.apiserver.webhooks.calls import CallFailed, Calls
from kapy.apiserver.webhooks.configuration import Hook
from kapy.apiserver.webhooks.matching import concerns, matching
from kapy.apiserver.webhooks.patching import CannotPatch, patched
from kapy.apiserver.webhooks.review import (
    GROUP,
    KIND,
    OTHER_KINDS,
    Answer,
    InvalidAnswer,
    UndecodablePatch,
    answer_of,
    denial,
    request_of,
)
from kapy.apiserver.webhooks.review_versions import KNOWN
from kapy.kube import Document
from kapy.kube.errors import ApiError, BadRequest, Forbidden
from kapy.kube.names import Resource

_log = logging.getLogger(__name__)


class Webhooks:
    """The webhooks of one server, from one state of its configurations."""

    __slots__ = ("_calls", "_mutating", "_plane", "_validating")

    def __init__(
        self, plane: Plane, calls: Calls, mutating: tuple[Hook, ...], validating: tuple[Hook, ...]
    ) -> None:
        self._plane = plane
        self._calls = calls
        self._mutating = mutating
        self._validating = validating

    def handles(self, resource: Resource, subresource: str) -> bool:
        kinds = _versions(self._plane, resource)
        every = (*self._mutating, *self._validating)
        return any(concerns(hook, kinds, subresource) for hook in every)

    async def default(self, review: Review) -> Document:
        """Return the object after all mutating webhooks, defaulted and pruned again."""
        assert review.new is not None
        with _waiting():
            return await self._mutated(review) or review.new

    async def validate(self, review: Review) -> Sequence[str]:
        """Call validating webhooks (for a deletion the mutating ones first). Raises ApiError.

        Warnings are added to the review, because a refusal must carry them too.
        """
        with _waiting():
            await self._validate(review)
        return ()

    async def _validate(self, review: Review) -> None:
        if review.operation == "DELETE":
            await self._mutated(review)
        kinds = _versions(self._plane, review.resource)
        seen = _Seen(self._plane, review, kinds[0])
        wanted = [(hook, await self._wants(hook, kinds, review, seen)) for hook in self._validating]
        refusals = await _together(
            [self._validated(hook, kind, review, seen) for hook, kind in wanted if kind is not None]
        )
        if refusals:
            raise refusals[0]

    async def _wants(
        self, hook: Hook, kinds: Sequence[Kind], review: Review, seen: _Seen
    ) -> Kind | None:
        """Return the version in which to call a webhook, None if it does not match. Raises
        ApiError.
        """
        new, old = await seen.in_version(kinds[0])
        kind = matching(self._plane, hook, kinds, review, new, old)
        if kind is None or not hook.conditions:
            return kind
        from kapy.apiserver.webhooks.conditions import ConditionFailed, deciding, hold

        new, old = await seen.in_version(kind)
        request = request_of(review, kind, kinds[0], None, None, "")
        try:
            decide = deciding(self._plane.authorize, review.user)
            return kind if hold(hook.conditions, new, old, request, decide) else None
        except ConditionFailed as error:
            if hook.ignores_failures:
                return None
            named = f' "{review.name}"' if review.name else ""
            raise Forbidden(
                f"{kinds[0].group_resource}{named} is forbidden: {error}",
                details=details(kinds[0], review.name),
            ) from None

    async def _validated(self, hook: Hook, kind: Kind, review: Review, seen: _Seen) -> None:
        answer = await self._asked(hook, kind, review, seen)
        if answer is not None and not answer.allowed:
            raise denial(hook.name, answer.status)

    async def _mutated(self, review: Review) -> Document | None:
        """Return the object after all mutating webhooks, None if they did not change it."""
        changed, last, invoked = await self._round(review, self._mutating)
        if changed is None:
            return None
        current = await self._defaulted_again(structs.replace(review, new=changed))
        if current != changed:
            last = len(invoked)
        again = tuple(hook for at, hook in enumerate(invoked) if hook.again and at < last)
        if again:
            current = (await self._round(structs.replace(review, new=current), again))[0] or current
        return current

    async def _defaulted_again(self, review: Review) -> Document:
        """Run the in-process plug-ins again on an object that webhooks changed."""
        kind = _versions(self._plane, review.resource)[0]
        for plugin in self._plane.plugins(kind, review.subresource):
            if not isinstance(plugin, Webhooks):  # skip webhooks of a later configuration, too
                review = structs.replace(review, new=await plugin.default(review))
        assert review.new is not None
        return review.new

    async def _round(
        self, review: Review, hooks: Sequence[Hook]
    ) -> tuple[Document | None, int, list[Hook]]:
        """Call these webhooks in order.

        Returns the object (None: unchanged), the index of the last webhook that changed it among
        those called (-1: none), and the webhooks that were called.
        """
        kinds = _versions(self._plane, review.resource)
        result: Document | None = None
        last, invoked = -1, list[Hook]()
        for hook in hooks:
            seen = _Seen(self._plane, review, kinds[0])
            kind = await self._wants(hook, kinds, review, seen)
            if kind is None:
                continue
            answer = await self._asked(hook, kind, review, seen)
            invoked.append(hook)
            if answer is None:
                continue
            if not answer.allowed:
                raise denial(hook.name, answer.status)
            if operations := self._operations(hook, answer):
                changed = await self._patched(hook, kind, review, seen, operations)
                if changed != review.new:
                    last, result = len(invoked) - 1, changed
                    review = structs.replace(review, new=changed)
        return result, last, invoked

    def _operations(self, hook: Hook, answer: Answer) -> list[Any]:
        """Return the patch of a webhook; an undecodable patch counts as a failed call."""
        try:
            return answer.operations()
        except UndecodablePatch as error:
            self._passed_over(hook, error)
            return []

    def _passed_over(self, hook: Hook, why: Exception) -> None:
        """Log a failed webhook if its failurePolicy is Ignore. Raises ApiError otherwise."""
        sentence = f'failed calling webhook "{hook.name}": {why}'
        if not hook.ignores_failures:
            raise internal(sentence) from None
        _log.warning("%s; its failurePolicy lets the request pass", sentence)

    async def _patched(
        self, hook: Hook, kind: Kind, review: Review, seen: _Seen, operations: list[Any]
    ) -> Document:
        """Apply a webhook's patch and return the object in the request's version.

        Raises StorageFailure.
        """
        new, _ = await seen.in_version(kind)
        if new is None or review.new is None:
            raise internal(
                f'admission webhook "{hook.name}" attempted to modify the object, which is not '
                "supported for this operation"
            )
        try:
            changed = patched(new, operations)
            if review.subresource == "scale":
                return replicas_set(seen.asked, review.new, changed)
            if review.subresource in OTHER_KINDS:
                return changed
            return await self._read_again(kind, seen.asked, changed)
        except (CannotPatch, Misfit) as error:
            raise internal(str(error)) from None

    async def _read_again(self, kind: Kind, asked: Kind, document: Document) -> Document:
        """Decode a patched object like one in a request. Raises Misfit, CannotPatch."""
        document = kind.schema.defaulted(document)
        if not isinstance(document.get("metadata"), dict):
            raise CannotPatch("the patch takes the object's metadata away")
        kind.strategy.default(document)
        (document,) = await self._plane.in_version((document,), asked.resource)
        return document

    async def _asked(self, hook: Hook, kind: Kind, review: Review, seen: _Seen) -> Answer | None:
        """Call a webhook; return None if it failed and its failurePolicy is Ignore.

        Raises ApiError.
        """
        if review.dry_run and not hook.dry_runs:
            raise BadRequest(f'admission webhook "{hook.name}" does not support dry run')
        new, old = await seen.in_version(kind)
        uid = new_uid(self._plane.rng)
        request = request_of(review, kind, seen.asked, new, old, uid)
        counted = _Counted(self._plane.traffic.hooks, hook, review.operation)
        try:
            document = await self._called(hook, request)
            answer = _verified(document, uid, hook)
        except CallFailed as error:
            counted.failed()
            self._passed_over(hook, error)
            return None
        counted.answered(answer)
        review.warnings.extend(answer.warnings)
        return answer

    async def _called(self, hook: Hook, request: Document) -> Document:
        if not hook.review_version:
            raise CallFailed(
                "could not create admission objects: webhook does not accept known "
                f"AdmissionReview versions ({', '.join(KNOWN)})"
            )
        version = f"{GROUP}/{hook.review_version}"
        review: Document = {"kind": KIND, "apiVersion": version, "request": request}
        try:
            return await self._calls.ask(hook.client, review, hook.seconds)
        except CallFailed as error:
            raise CallFailed(f"failed to call webhook: {error}") from None


@contextmanager
def _waiting() -> Iterator[None]:
    """Exclude the time in this block from the server's own request duration."""
    began = perf_counter()
    try:
        yield
    finally:
        ON_WEBHOOKS.set(ON_WEBHOOKS.get() + perf_counter() - began)


class _Counted:
    """One webhook call in the metrics of `/metrics`."""

    def __init__(self, counts: HookCounts, hook: Hook, operation: str) -> None:
        self._counts = counts
        self._hook = hook
        self._what = hook.name, "admit" if hook.role == "mutating" else "validating", operation
        self._began = perf_counter()

    def failed(self) -> None:
        rejected = not self._hook.ignores_failures
        self._told(400, rejected=rejected)
        if rejected:
            self._counts.rejected(*self._what, "calling_webhook_error", 400)
        else:
            self._counts.passed(*self._what[:2])

    def answered(self, answer: Answer) -> None:
        if answer.allowed:
            self._told(200, rejected=False)
            return
        code = denial(self._hook.name, answer.status).code
        self._told(code, rejected=True)
        self._counts.rejected(*self._what, "no_error", code)

    def _told(self, code: int, *, rejected: bool) -> None:
        seconds = perf_counter() - self._began
        self._counts.asked(*self._what, seconds, code=code, rejected=rejected)


def _verified(document: Document, uid: str, hook: Hook) -> Answer:
    try:
        return answer_of(document, uid, hook.role, hook.review_version)
    except InvalidAnswer as error:
        raise CallFailed(f"received invalid webhook response: {error}") from None


class _Seen:
    """The objects of a request, converted at most once to each version that webhooks want."""

    __slots__ = ("_made", "_plane", "_review", "asked")

    def __init__(self, plane: Plane, review: Review, asked: Kind) -> None:
        self._plane = plane
        self._review = review
        self._made: dict[str, tuple[Document | None, Document | None]] = {}
        self.asked = asked

    async def in_version(self, kind: Kind) -> tuple[Document | None, Document | None]:
        """Return the new and the old object in this version."""
        key = kind.resource.api_version
        found = self._made.get(key)
        if found is None:
            new, old = self._review.new, self._review.old
            found = self._made[key] = await self._one(kind, new), await self._one(kind, old)
        return found

    async def _one(self, kind: Kind, document: Document | None) -> Document | None:
        if document is None:
            return None
        if self._review.subresource == "scale":
            return scale_seen(self.asked, document)
        if self._review.subresource in OTHER_KINDS:
            return document
        (document,) = await self._plane.in_version((document,), kind.resource)
        return document


def _versions(plane: Plane, resource: Resource) -> list[Kind]:
    """Return the kind of a resource, followed by its other versions (and groups)."""
    kind = plane.registry.find(resource.group, resource.version, resource.plural)
    if kind is None:  # the CustomResourceDefinition was deleted during the request
        raise no_such_resource()
    others = (one for one in plane.registry if one.table == kind.table and one is not kind)
    return [kind, *others]


async def _together(asked: Sequence[Awaitable[None]]) -> list[ApiError]:
    """Wait for all calls; return the refusals in the order in which they arrived."""
    refusals: list[ApiError] = []

    async def one(waiting: Awaitable[None]) -> None:
        try:
            await waiting
        except ApiError as error:
            refusals.append(error)

    if len(asked) == 1:
        await one(asked[0])
    elif asked:
        async with asyncio.TaskGroup() as group:
            for waiting in asked:
                group.create_task(one(waiting))
    return refusals


def internal(why: str) -> ApiError:
    """Return the error "Internal error occurred" with this reason (500)."""
    return StorageFailure(f"Internal error occurred: {why}", details={"causes": [{"message": why}]})
