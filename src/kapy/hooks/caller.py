"""Calls extensions: selects handlers, limits and caches calls, aggregates responses.

    caller = Caller(registry, catalog, namespaces, HttpsTransport(), random=runtime.random)
    response = await caller.call_all(BEFORE_CLUSTER_CREATE, subject, request)

Handlers of a hook are called one after the other, in the order of their names; the first failure
ends the sequence. A handler with the `failurePolicy` Fail has a circuit breaker
(`kapy.hooks.breaker`), so that a dead one does not cost its timeout each time. A handler with
Ignore is always called: skipping the call would ignore a refusal of a handler that has recovered.
Each extension has at most `MAX_CONCURRENT_CALLS` running calls.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kapy.api.extension_config import ExtensionConfig
from kapy.engine.cache import Informer
from kapy.hooks.breaker import CircuitBreaker, CircuitOpen
from kapy.hooks.call import CallFailed, Calls, body_of, check, discover, handler_url
from kapy.hooks.catalog import Catalog
from kapy.hooks.errors import HookError
from kapy.hooks.hook import AnyHook, Hook, Req, Resp
from kapy.hooks.messages.discovery import DEFAULT_TIMEOUT_SECONDS, ExtensionHandler
from kapy.hooks.messages.message import SUCCESS, Request, Response, RetryResponse
from kapy.hooks.registry import NotRegistered, Registration, Registry
from kapy.hooks.transport import HookTransport
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError

MAX_CONCURRENT_CALLS: Final = 16
_log = logging.getLogger(__name__)
_CACHE_SECONDS: Final = 540.0
_MOST_CACHED: Final = 4096
"""Answers that are kept; the one that was used least recently goes first."""
_CacheKey: TypeAlias = tuple[str, str, bytes]


class TooManyCalls(HookError):
    """A handler was not called, because too many calls of its extension are running. That is no
    failure of the handler, so its failurePolicy does not apply.
    """


class Subject(NamedTuple):
    """The object that a call is about; its namespace selects the handlers."""

    kind: str
    key: Key


class Caller:
    """Calls the handlers of registered runtime extensions.

    catalog: the known hooks. namespaces: an informer of the Namespaces of the management cluster,
    for namespace selectors.
    """

    def __init__(
        self,
        registry: Registry,
        catalog: Catalog,
        namespaces: Informer[Document],
        post: HookTransport,
        *,
        random: Random,
    ) -> None:
        self.registry = registry
        self.catalog = catalog
        self._namespaces = namespaces
        self._calls = Calls(post)
        self._random = random
        self._cache = _ResponseCache()
        self._breakers: dict[tuple[str, str], CircuitBreaker[Subject]] = {}
        self._call_slots: dict[str, asyncio.Semaphore] = {}
        self._wakes: dict[str, Callable[[Key], None]] = {}
        self.metrics = self._calls.metrics

    def subscribe(self, kind: str, wake: Callable[[Key], None]) -> None:
        """Call `wake` with objects of a kind that should be reconciled again, because a handler
        that failed for them may answer.
        """
        self._wakes[kind] = wake

    def _wake(self, subject: Subject) -> None:
        if subject.kind in self._wakes:
            self._wakes[subject.kind](subject.key)

    def handlers_of(self, hook: AnyHook, subject: Subject) -> Sequence[Registration]:
        """Return the handlers that are called for a subject, by name. Raises HookError."""
        handlers = self.registry.handlers_of(hook.group, hook.name)
        return [registration for registration in handlers if self._selects(registration, subject)]

    def _selects(self, registration: Registration, subject: Subject) -> bool:
        if registration.selector.everything:
            return True
        namespace = self._namespaces.raw(Key("", subject.key.namespace))
        if namespace is None:
            raise HookError(
                f'failed to get extension handler "{registration.name}": failed to match '
                f"namespace: namespace {subject.key.namespace} does not exist"
            )
        return registration.selector.matches(namespace["metadata"].get("labels"))

    def revision(self, name: str) -> str:
        """Return a text that changes with a handler's ExtensionConfig; "" if there is no such
        handler.
        """
        try:
            return self.registry.get(name).revision
        except NotRegistered:
            return ""

    async def call_all(
        self, hook: Hook[Any, Resp], subject: Subject, request: Request | Document
    ) -> Resp:
        """Call all handlers of a hook and aggregate their responses. Raises HookError."""
        try:
            responses = [
                await self.call(hook, handler.name, subject, request)
                for handler in self.handlers_of(hook, subject)
            ]
        except KapyError as error:
            raise HookError(
                f'failed to call extension handlers for hook "{hook.group_hook}": {error}'
            ) from error
        return aggregate_responses(hook, responses)

    async def call(
        self,
        hook: Hook[Any, Resp],
        name: str,
        subject: Subject,
        request: Request | Document,
        *,
        keep: bool = False,
    ) -> Resp:
        """Call one handler; return success if it does not answer and its failures are ignored.

        keep: use the response cache (`_ResponseCache`). Raises HookError.
        """
        failed = f'failed to call extension handler "{name}"'
        try:
            registration = self.registry.get(name)
        except KapyError as error:
            raise HookError(f"{failed}: {error}") from error
        if (registration.group, registration.hook) != (hook.group, hook.name):
            raise HookError(f'{failed}: handler does not match GroupHook "{hook.group_hook}"')
        if not self._selects(registration, subject):
            raise HookError(f"{failed}: namespaceSelector did not match object {subject.key}")
        try:
            response = await self._response(hook, registration, subject, request, keep=keep)
        except (CallFailed, CircuitOpen) as error:
            if registration.ignores_failure:
                _log.warning("%s: the failure is ignored (failurePolicy): %s", failed, error)
                return hook.response()
            raise HookError(f"{failed}: {error}") from error
        except HookError as error:
            raise HookError(f"{failed}: {error}") from error
        check(response, "call extension handler", name)
        return response

    async def _response(
        self,
        hook: Hook[Any, Resp],
        registration: Registration,
        subject: Subject,
        request: Request | Document,
        *,
        keep: bool,
    ) -> Resp:
        """Return the response in the requested version, whichever version the handler has. Raises
        HookError and CircuitOpen.
        """
        spoken = self.catalog.get(registration.hook_version, registration.hook)
        if spoken is None:
            raise HookError(
                f"{registration.name} answers {registration.hook} of {registration.hook_version}, "
                "which this version of kapy does not call"
            )
        if spoken is not hook:
            newest = request
            if not isinstance(newest, Request):
                newest = hook.decode_request(msgspec.json.encode(newest))
            request = self.catalog.request_for(spoken, newest, hook)
        body = body_of(spoken, request, registration.settings)
        key = _cache_key(registration, body) if keep else None
        response = None if key is None else self._cache.get(key)
        if response is None:
            response = await self._call_handler(spoken, registration, subject, body)
            if key is not None and response.status == SUCCESS:
                self._cache.put(key, response)
        if spoken is not hook:
            response = self.catalog.response_of(spoken, response, hook)
        assert isinstance(response, hook.response)
        return response

    async def _call_handler(
        self, hook: Hook[Any, Resp], registration: Registration, subject: Subject, body: bytes
    ) -> Resp:
        """Call a handler, and return its response. Raises CallFailed, TooManyCalls, CircuitOpen and
        BadAddress.
        """
        url = handler_url(registration.client, hook, registration.handler)
        if registration.ignores_failure:
            return await self._call_in_slot(hook, registration, url, body)
        breaker = self._breaker(registration)
        breaker.admit(subject)
        try:
            response = await self._call_in_slot(hook, registration, url, body)
        except CallFailed as error:
            breaker.record_failure(subject, str(error))
            raise
        except BaseException:
            breaker.record_abort()
            raise
        breaker.record_answer()
        return response

    async def _call_in_slot(
        self, hook: Hook[Any, Resp], registration: Registration, url: str, body: bytes
    ) -> Resp:
        """Wait for a call slot, then call; both share one deadline. Raises CallFailed and
        TooManyCalls.
        """
        turns = self._call_slots.setdefault(
            registration.config, asyncio.Semaphore(MAX_CONCURRENT_CALLS)
        )
        until = asyncio.get_running_loop().time() + registration.seconds
        try:
            async with asyncio.timeout_at(until):
                await turns.acquire()
        except TimeoutError:
            raise TooManyCalls(
                f"no turn within {registration.seconds}s: others wait for its answers"
            ) from None
        try:
            client, seconds = registration.client, registration.seconds
            return await self._calls.call(hook, client, url, body, seconds, until=until)
        finally:
            turns.release()

    def _breaker(self, registration: Registration) -> CircuitBreaker[Subject]:
        key = registration.name, registration.revision
        breaker = self._breakers.get(key)
        if breaker is None:
            for other in [entry for entry in self._breakers if entry[0] == registration.name]:
                self._breakers.pop(other).close()
            breaker = self._breakers[key] = CircuitBreaker(self._wake, self._random)
        return breaker

    async def discover(self, config: ExtensionConfig) -> Sequence[ExtensionHandler]:
        """Return the handlers of an extension, with defaults. Raises HookError."""
        seconds = min(self.registry.longest_of(config), DEFAULT_TIMEOUT_SECONDS)
        return await discover(config, self.catalog, self._calls, seconds)

    async def run(self) -> None:
        """Wait until cancelled, then close connections."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            for breaker in self._breakers.values():
                breaker.close()
            await self._calls.aclose()


def aggregate_responses(hook: Hook[Req, Resp], responses: Iterable[Resp]) -> Resp:
    """Return one response for several successful ones: the shortest retry, and all messages in
    order.
    """
    together = hook.response()
    messages = []
    for response in responses:
        if isinstance(response, RetryResponse) and isinstance(together, RetryResponse):
            together.retry_after_seconds = _lowest_wait(
                together.retry_after_seconds, response.retry_after_seconds
            )
        if response.message:
            messages.append(response.message)
    together.message = ", ".join(messages)
    return together


def _lowest_wait(first: int, other: int) -> int:
    """Return the lower of two retry times in seconds; 0 means none."""
    return min(first, other) if first and other else first or other


class _ResponseCache:
    """A cache of responses to DiscoverVariables, like upstream's. Callers share the responses in
    it, and must not change them.

    A successful response is valid for the same request until its ExtensionConfig changes, for nine
    minutes at most. Failures are never cached. Responses to other hooks are never cached: they may
    depend on more than the request, such as a quota.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[_CacheKey, tuple[float, Response]] = OrderedDict()

    def get(self, key: _CacheKey) -> Response | None:
        """Return the cached response of a key; None if there is none or it has expired."""
        entry = self._kept.get(key)
        if entry is None or entry[0] <= asyncio.get_running_loop().time():
            return None
        self._kept.move_to_end(key)
        return entry[1]

    def put(self, key: _CacheKey, response: Response) -> None:
        """Cache a successful response."""
        self._kept[key] = asyncio.get_running_loop().time() + _CACHE_SECONDS, response
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_CACHED:
            self._kept.popitem(last=False)


def _cache_key(registration: Registration, body: bytes) -> _CacheKey:
    """Return the cache key of a request."""
    return registration.name, registration.revision, sha256(body).digest()
