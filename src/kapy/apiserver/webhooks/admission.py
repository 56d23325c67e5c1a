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

from kapy.apiserver.admission.plugin import Review
from kapy.apiserver.errors import StorageFailure, no_such_resource
from kapy.apiserver.metrics.counters import ON_WEBHOOKS, WebhookCounters
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.kind_errors import status_details
from kapy.apiserver.resources.metadata import new_uid
from kapy.apiserver.resources.registry import Registry
from kapy.apiserver.resources.review_versions import KNOWN
from kapy.apiserver.resources.scale import scale_of, set_replicas
from kapy.apiserver.resources.structs import WrongType
from kapy.apiserver.resources.version_converter import VersionConverter
from kapy.apiserver.webhooks.admission_parts import AdmissionParts
from kapy.apiserver.webhooks.admission_review import (
    GROUP,
    KIND,
    OTHER_KINDS,
    AdmissionResponse,
    InvalidResponse,
    PatchFailed,
    UndecodablePatch,
    apply_patch,
    build_request,
    denial_error,
    parse_response,
)
from kapy.apiserver.webhooks.configuration import Webhook
from kapy.apiserver.webhooks.matching import match_version, may_match
from kapy.apiserver.webhooks.webhook_client import CallFailed
from kapy.kube import Document
from kapy.kube.errors import ApiError, BadRequest, Forbidden
from kapy.kube.names import Resource

_log = logging.getLogger(__name__)


class AdmissionWebhooks:
    """The webhooks of one server, from one state of its configurations."""

    __slots__ = ("_mutating", "_parts", "_validating")

    def __init__(
        self,
        parts: AdmissionParts,
        mutating: tuple[Webhook, ...],
        validating: tuple[Webhook, ...],
    ) -> None:
        self._parts = parts
        self._mutating = mutating
        self._validating = validating

    def handles(self, resource: Resource, subresource: str) -> bool:
        kinds = _versions(self._parts.registry, resource)
        webhooks = (*self._mutating, *self._validating)
        return any(may_match(hook, kinds, subresource) for hook in webhooks)

    async def default(self, review: Review) -> Document:
        """Return the object after all mutating webhooks, defaulted and pruned again."""
        assert review.new is not None
        with _measure_wait():
            return await self._mutate(review) or review.new

    async def validate(self, review: Review) -> Sequence[str]:
        """Call validating webhooks (for a deletion the mutating ones first). Raises ApiError.

        Warnings are added to the review, because a refusal must carry them too.
        """
        with _measure_wait():
            await self._validate(review)
        return ()

    async def _validate(self, review: Review) -> None:
        if review.operation == "DELETE":
            await self._mutate(review)
        kinds = _versions(self._parts.registry, review.resource)
        versioned = _VersionedObjects(self._parts.converter, review, kinds[0])
        wanted = [
            (hook, await self._match(hook, kinds, review, versioned)) for hook in self._validating
        ]
        refusals = await _await_all(
            [
                self._call_validating(hook, kind, review, versioned)
                for hook, kind in wanted
                if kind is not None
            ]
        )
        if refusals:
            raise refusals[0]

    async def _match(
        self, hook: Webhook, kinds: Sequence[Kind], review: Review, versioned: _VersionedObjects
    ) -> Kind | None:
        """Return the version in which to call a webhook, None if it does not match. Raises
        ApiError.
        """
        new, old = await versioned.in_version(kinds[0])
        kind = match_version(self._parts, hook, kinds, review, new, old)
        if kind is None or not hook.conditions:
            return kind
        from kapy.apiserver.webhooks.condition_evaluation import (
            ConditionFailed,
            cel_authorizer,
            evaluate,
        )

        new, old = await versioned.in_version(kind)
        request = build_request(review, kind, kinds[0], None, None, "")
        try:
            decide = cel_authorizer(self._parts.authorize, review.user)
            return kind if evaluate(hook.conditions, new, old, request, decide) else None
        except ConditionFailed as error:
            if hook.ignores_failures:
                return None
            named = f' "{review.name}"' if review.name else ""
            raise Forbidden(
                f"{kinds[0].group_resource}{named} is forbidden: {error}",
                details=status_details(kinds[0], review.name),
            ) from None

    async def _call_validating(
        self, hook: Webhook, kind: Kind, review: Review, versioned: _VersionedObjects
    ) -> None:
        answer = await self._call(hook, kind, review, versioned)
        if answer is not None and not answer.allowed:
            raise denial_error(hook.name, answer.status)

    async def _mutate(self, review: Review) -> Document | None:
        """Return the object after all mutating webhooks, None if they did not change it."""
        changed, last, invoked = await self._call_in_order(review, self._mutating)
        if changed is None:
            return None
        current = await self._reinvoke_plugins(structs.replace(review, new=changed))
        if current != changed:
            last = len(invoked)
        again = tuple(hook for at, hook in enumerate(invoked) if hook.again and at < last)
        if again:
            current = (await self._call_in_order(structs.replace(review, new=current), again))[
                0
            ] or current
        return current

    async def _reinvoke_plugins(self, review: Review) -> Document:
        """Run the in-process plug-ins again on an object that webhooks changed."""
        kind = _versions(self._parts.registry, review.resource)[0]
        for plugin in self._parts.chain.plugins(kind, review.subresource):
            if not isinstance(
                plugin, AdmissionWebhooks
            ):  # skip webhooks of a later configuration, too
                review = structs.replace(review, new=await plugin.default(review))
        assert review.new is not None
        return review.new

    async def _call_in_order(
        self, review: Review, hooks: Sequence[Webhook]
    ) -> tuple[Document | None, int, list[Webhook]]:
        """Call these webhooks in order.

        Returns the object (None: unchanged), the index of the last webhook that changed it among
        those called (-1: none), and the webhooks that were called.
        """
        kinds = _versions(self._parts.registry, review.resource)
        result: Document | None = None
        last, invoked = -1, list[Webhook]()
        for hook in hooks:
            versioned = _VersionedObjects(self._parts.converter, review, kinds[0])
            kind = await self._match(hook, kinds, review, versioned)
            if kind is None:
                continue
            answer = await self._call(hook, kind, review, versioned)
            invoked.append(hook)
            if answer is None:
                continue
            if not answer.allowed:
                raise denial_error(hook.name, answer.status)
            if operations := self._operations(hook, answer):
                changed = await self._apply_patch(hook, kind, review, versioned, operations)
                if changed != review.new:
                    last, result = len(invoked) - 1, changed
                    review = structs.replace(review, new=changed)
        return result, last, invoked

    def _operations(self, hook: Webhook, answer: AdmissionResponse) -> list[Any]:
        """Return the patch of a webhook; an undecodable patch counts as a failed call."""
        try:
            return answer.operations()
        except UndecodablePatch as error:
            self._ignore_failure(hook, error)
            return []

    def _ignore_failure(self, hook: Webhook, why: Exception) -> None:
        """Log a failed webhook if its failurePolicy is Ignore. Raises ApiError otherwise."""
        sentence = f'failed calling webhook "{hook.name}": {why}'
        if not hook.ignores_failures:
            raise internal_error(sentence) from None
        _log.warning("%s; its failurePolicy lets the request pass", sentence)

    async def _apply_patch(
        self,
        hook: Webhook,
        kind: Kind,
        review: Review,
        versioned: _VersionedObjects,
        operations: list[Any],
    ) -> Document:
        """Apply a webhook's patch and return the object in the request's version.

        Raises StorageFailure.
        """
        new, _ = await versioned.in_version(kind)
        if new is None or review.new is None:
            raise internal_error(
                f'admission webhook "{hook.name}" attempted to modify the object, which is not '
                "supported for this operation"
            )
        try:
            changed = apply_patch(new, operations)
            if review.subresource == "scale":
                return set_replicas(versioned.asked, review.new, changed)
            if review.subresource in OTHER_KINDS:
                return changed
            return await self._decode_patched(kind, versioned.asked, changed)
        except (PatchFailed, WrongType) as error:
            raise internal_error(str(error)) from None

    async def _decode_patched(self, kind: Kind, request: Kind, document: Document) -> Document:
        """Decode a patched object like one in a request. Raises WrongType, PatchFailed."""
        document = kind.schema.decode_for_webhook(document)
        if not isinstance(document.get("metadata"), dict):
            raise PatchFailed("the patch takes the object's metadata away")
        kind.strategy.default(document)
        (document,) = await self._parts.converter.to_version((document,), request.resource)
        return document

    async def _call(
        self, hook: Webhook, kind: Kind, review: Review, versioned: _VersionedObjects
    ) -> AdmissionResponse | None:
        """Call a webhook; return None if it failed and its failurePolicy is Ignore.

        Raises ApiError.
        """
        if review.dry_run and not hook.dry_runs:
            raise BadRequest(f'admission webhook "{hook.name}" does not support dry run')
        new, old = await versioned.in_version(kind)
        uid = new_uid(self._parts.rng)
        request = build_request(review, kind, versioned.asked, new, old, uid)
        counted = _CountedCall(self._parts.counters, hook, review.operation)
        try:
            document = await self._send(hook, request)
            answer = _verify(document, uid, hook)
        except CallFailed as error:
            counted.count_failure()
            self._ignore_failure(hook, error)
            return None
        counted.count_response(answer)
        review.warnings.extend(answer.warnings)
        return answer

    async def _send(self, hook: Webhook, request: Document) -> Document:
        if not hook.review_version:
            raise CallFailed(
                "could not create admission objects: webhook does not accept known "
                f"AdmissionReview versions ({', '.join(KNOWN)})"
            )
        version = f"{GROUP}/{hook.review_version}"
        review: Document = {"kind": KIND, "apiVersion": version, "request": request}
        try:
            return await self._parts.client.get().call(hook.client, review, hook.seconds)
        except CallFailed as error:
            raise CallFailed(f"failed to call webhook: {error}") from None


@contextmanager
def _measure_wait() -> Iterator[None]:
    """Exclude the time in this block from the server's own request duration."""
    began = perf_counter()
    try:
        yield
    finally:
        ON_WEBHOOKS.set(ON_WEBHOOKS.get() + perf_counter() - began)


class _CountedCall:
    """One webhook call in the metrics of `/metrics`."""

    def __init__(self, counts: WebhookCounters, hook: Webhook, operation: str) -> None:
        self._counts = counts
        self._hook = hook
        self._what = hook.name, "admit" if hook.role == "mutating" else "validating", operation
        self._began = perf_counter()

    def count_failure(self) -> None:
        rejected = not self._hook.ignores_failures
        self._count(400, rejected=rejected)
        if rejected:
            self._counts.count_rejection(*self._what, "calling_webhook_error", 400)
        else:
            self._counts.count_ignored_failure(*self._what[:2])

    def count_response(self, answer: AdmissionResponse) -> None:
        if answer.allowed:
            self._count(200, rejected=False)
            return
        code = denial_error(self._hook.name, answer.status).code
        self._count(code, rejected=True)
        self._counts.count_rejection(*self._what, "no_error", code)

    def _count(self, code: int, *, rejected: bool) -> None:
        seconds = perf_counter() - self._began
        self._counts.count_call(*self._what, seconds, code=code, rejected=rejected)


def _verify(document: Document, uid: str, hook: Webhook) -> AdmissionResponse:
    try:
        return parse_response(document, uid, hook.role, hook.review_version)
    except InvalidResponse as error:
        raise CallFailed(f"received invalid webhook response: {error}") from None


class _VersionedObjects:
    """The objects of a request, converted at most once to each version that webhooks want."""

    __slots__ = ("_by_version", "_converter", "_review", "asked")

    def __init__(self, converter: VersionConverter, review: Review, kind: Kind) -> None:
        self._converter = converter
        self._review = review
        self._by_version: dict[str, tuple[Document | None, Document | None]] = {}
        self.asked = kind

    async def in_version(self, kind: Kind) -> tuple[Document | None, Document | None]:
        """Return the new and the old object in this version."""
        key = kind.resource.api_version
        results = self._by_version.get(key)
        if results is None:
            new, old = self._review.new, self._review.old
            results = self._by_version[key] = (
                await self._convert(kind, new),
                await self._convert(kind, old),
            )
        return results

    async def _convert(self, kind: Kind, document: Document | None) -> Document | None:
        if document is None:
            return None
        if self._review.subresource == "scale":
            return scale_of(self.asked, document)
        if self._review.subresource in OTHER_KINDS:
            return document
        (document,) = await self._converter.to_version((document,), kind.resource)
        return document


def _versions(registry: Registry, resource: Resource) -> list[Kind]:
    """Return the kind of a resource, followed by its other versions (and groups)."""
    kind = registry.find(resource.group, resource.version, resource.plural)
    if kind is None:  # the CustomResourceDefinition was deleted during the request
        raise no_such_resource()
    others = (item for item in registry if item.table == kind.table and item is not kind)
    return [kind, *others]


async def _await_all(request: Sequence[Awaitable[None]]) -> list[ApiError]:
    """Wait for all calls; return the refusals in the order in which they arrived."""
    refusals: list[ApiError] = []

    async def await_call(waiting: Awaitable[None]) -> None:
        try:
            await waiting
        except ApiError as error:
            refusals.append(error)

    if len(request) == 1:
        await await_call(request[0])
    elif request:
        async with asyncio.TaskGroup() as group:
            for waiting in request:
                group.create_task(await_call(waiting))
    return refusals


def internal_error(why: str) -> ApiError:
    """Return the error "Internal error occurred" with this reason (500)."""
    return StorageFailure(f"Internal error occurred: {why}", details={"causes": [{"message": why}]})
