"""Calling extensions: who is asked about what, how often, and what their answers come to.

    caller = Caller(registry, namespaces, HttpsPost(), random=runtime.random)
    response = await caller.call_all(BEFORE_CLUSTER_CREATE, subject, request)

Handlers of a hook are asked one after the other, in the order of their names, and the first one
that fails ends it. One whose `failurePolicy` is Fail has a breaker (`kapy.hooks.breaker`), so that
a dead one costs nobody its timeout for long. One whose policy is Ignore is always called: to skip
the call would be to go on although the extension may be there again and refuse. Each extension has
`AT_A_TIME` calls under way at most.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from kapy.api.extension_config import ExtensionConfig
from kapy.engine.cache import Informer
from kapy.hooks.aggregate import aggregated
from kapy.hooks.answers import Answers, answer_key
from kapy.hooks.breaker import Breaker, Broken
from kapy.hooks.call import CallFailed, Calls, body_of, check, discovered
from kapy.hooks.catalog import Catalog
from kapy.hooks.errors import HookError
from kapy.hooks.hook import AnyHook, Hook
from kapy.hooks.messages.discovery import DEFAULT_TIMEOUT_SECONDS, ExtensionHandler
from kapy.hooks.messages.message import SUCCESS, Request, Response
from kapy.hooks.posting import Post
from kapy.hooks.registry import NotRegistered, Registration, Registry
from kapy.hooks.urls import handler_url
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError

AT_A_TIME: Final = 16
Resp = TypeVar("Resp", bound=Response)

_log = logging.getLogger(__name__)


class NoTurn(HookError):
    """A handler was not called, as too many calls of its extension are under way. That is no fault
    of the handler, so its failurePolicy says nothing about it."""


class Subject(NamedTuple):
    """What an extension is asked about; by its namespace it is decided who is asked."""

    kind: str
    key: Key


class Caller:
    """Calls the extensions of one registry.

    catalog: the hooks that there are. namespaces: of the management cluster, for selectors.
    """

    def __init__(
        self,
        registry: Registry,
        catalog: Catalog,
        namespaces: Informer[Document],
        post: Post,
        *,
        random: Random,
    ) -> None:
        self.registry = registry
        self.catalog = catalog
        self._namespaces = namespaces
        self._calls = Calls(post)
        self._random = random
        self._answers = Answers()
        self._breakers: dict[tuple[str, str], Breaker[Subject]] = {}
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._wakes: dict[str, Callable[[Key], None]] = {}
        self.measures = self._calls.measures

    def subscribe(self, kind: str, wake: Callable[[Key], None]) -> None:
        """Be told which objects of a kind should be looked at again, because an extension that
        they wait for may answer."""
        self._wakes[kind] = wake

    def _wake(self, subject: Subject) -> None:
        if subject.kind in self._wakes:
            self._wakes[subject.kind](subject.key)

    def serving(self, hook: AnyHook, subject: Subject) -> Sequence[Registration]:
        """The handlers that are asked about a subject, by name. Raises HookError."""
        found = self.registry.serving(hook.group, hook.name)
        return [one for one in found if self._selects(one, subject)]

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
        """Changes whenever a handler's ExtensionConfig does; "" if there is no such handler."""
        try:
            return self.registry.named(name).mark
        except NotRegistered:
            return ""

    async def call_all(
        self, hook: Hook[Any, Resp], subject: Subject, request: Request | Document
    ) -> Resp:
        """What all handlers of a hook say together. Raises HookError."""
        try:
            responses = [
                await self.call(hook, one.name, subject, request)
                for one in self.serving(hook, subject)
            ]
        except KapyError as error:
            raise HookError(
                f'failed to call extension handlers for hook "{hook.group_hook}": {error}'
            ) from error
        return aggregated(hook, responses)

    async def call(
        self,
        hook: Hook[Any, Resp],
        name: str,
        subject: Subject,
        request: Request | Document,
        *,
        keep: bool = False,
    ) -> Resp:
        """What one handler says; success, where it does not answer and may be ignored.

        keep: the answer to the same request counts again (`kapy.hooks.answers`). Raises HookError.
        """
        failed = f'failed to call extension handler "{name}"'
        try:
            registration = self.registry.named(name)
        except KapyError as error:
            raise HookError(f"{failed}: {error}") from error
        if (registration.group, registration.hook) != (hook.group, hook.name):
            raise HookError(f'{failed}: handler does not match GroupHook "{hook.group_hook}"')
        if not self._selects(registration, subject):
            raise HookError(f"{failed}: namespaceSelector did not match object {subject.key}")
        try:
            response = await self._response(hook, registration, subject, request, keep=keep)
        except (CallFailed, Broken) as error:
            if registration.ignored:
                _log.warning("%s: its failurePolicy is Ignore, all goes on: %s", failed, error)
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
        """In the version that is asked for, whichever the handler speaks. Raises HookError and
        Broken."""
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
        key = answer_key(registration, body) if keep else None
        response = None if key is None else self._answers.get(key)
        if response is None:
            response = await self._asked(spoken, registration, subject, body)
            if key is not None and response.status == SUCCESS:
                self._answers.keep(key, response)
        if spoken is not hook:
            response = self.catalog.response_of(spoken, response, hook)
        assert isinstance(response, hook.response)
        return response

    async def _asked(
        self, hook: Hook[Any, Resp], registration: Registration, subject: Subject, body: bytes
    ) -> Resp:
        """Raises CallFailed, NoTurn, Broken and BadAddress."""
        url = handler_url(registration.client, hook, registration.handler)
        if registration.ignored:
            return await self._in_turn(hook, registration, url, body)
        breaker = self._breaker(registration)
        breaker.admit(subject)
        try:
            response = await self._in_turn(hook, registration, url, body)
        except CallFailed as error:
            breaker.failed(subject, str(error))
            raise
        except BaseException:
            breaker.abandoned()
            raise
        breaker.answered()
        return response

    async def _in_turn(
        self, hook: Hook[Any, Resp], registration: Registration, url: str, body: bytes
    ) -> Resp:
        """Waiting for a turn counts as waiting for the answer: nobody is held longer than that.
        Raises CallFailed and NoTurn."""
        turns = self._turns.setdefault(registration.config, asyncio.Semaphore(AT_A_TIME))
        until = asyncio.get_running_loop().time() + registration.seconds
        try:
            async with asyncio.timeout_at(until):
                await turns.acquire()
        except TimeoutError:
            raise NoTurn(
                f"no turn within {registration.seconds}s: others wait for its answers"
            ) from None
        try:
            client, seconds = registration.client, registration.seconds
            return await self._calls.ask(hook, client, url, body, seconds, until=until)
        finally:
            turns.release()

    def _breaker(self, registration: Registration) -> Breaker[Subject]:
        key = registration.name, registration.mark
        found = self._breakers.get(key)
        if found is None:
            for other in [one for one in self._breakers if one[0] == registration.name]:
                self._breakers.pop(other).close()
            found = self._breakers[key] = Breaker(self._wake, self._random)
        return found

    async def discover(self, config: ExtensionConfig) -> Sequence[ExtensionHandler]:
        """The handlers of an extension, with defaults. Raises HookError."""
        seconds = min(self.registry.longest_of(config), DEFAULT_TIMEOUT_SECONDS)
        return await discovered(config, self.catalog, self._calls, seconds)

    async def run(self) -> None:
        """Nothing to do until the program ends; then connections are closed."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            for breaker in self._breakers.values():
                breaker.close()
            await self._calls.aclose()
