"""Calls the extensions that update Machines in place.

For each of the three hooks one handler serves a namespace: with several, it would be undefined
which extension makes which part of a change.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.apps.extensions.coverage import (
    MACHINE_SET_PARTS,
    uncovered_by_machine_set_update,
    uncovered_by_machine_update,
)
from kapy.core.machine.scope import Progress
from kapy.engine.cache import Change
from kapy.hooks.caller import Caller, Subject
from kapy.hooks.errors import HookError
from kapy.hooks.hook import AnyHook
from kapy.hooks.messages.in_place_update import (
    CAN_UPDATE_MACHINE,
    CAN_UPDATE_MACHINE_SET,
    UPDATE_MACHINE,
)
from kapy.hooks.registry import Registration
from kapy.kube import Document, Key
from kapy.kube.nested import value_at

MACHINES: Final = Machine.RESOURCE.kind
DEPLOYMENTS: Final = MachineDeployment.RESOURCE.kind
CONTROL_PLANES: Final = KubeadmControlPlane.RESOURCE.kind
CACHE_SECONDS: Final = 600.0
"""The maximum time for which an answer about a MachineSet is reused."""
MAX_CACHED: Final = 4096
"""The maximum number of MachineSets in the cache."""


class _CacheKey(NamedTuple):
    """The inputs of a cached answer: the configured handler and the request."""

    handler: str
    registration: str
    request: bytes


class InPlace:
    """Asks extensions whether Machines can be updated in place, and has them updated."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._said: OrderedDict[_CacheKey, tuple[float, Sequence[str]]] = OrderedDict()
        self._unserved: set[Key] = set()
        self._wake: Callable[[Key], None] | None = None

    def wake(
        self,
        *,
        machines: Callable[[Key], None] | None = None,
        deployments: Callable[[Key], None] | None = None,
        control_planes: Callable[[Key], None] | None = None,
    ) -> None:
        """Set the callbacks for extensions that become available."""
        self._wake = machines or self._wake
        callbacks = (
            (MACHINES, machines),
            (DEPLOYMENTS, deployments),
            (CONTROL_PLANES, control_planes),
        )
        for kind, wake in callbacks:
            if wake is not None:
                self._caller.subscribe(kind, wake)

    def on_config_change(self, change: Change) -> None:
        """Reconcile Machines that wait for an update when an ExtensionConfig changes (a handler of
        its informer, called after the registry's)."""
        if self._wake is None or change.initial:
            return
        waiting, self._unserved = self._unserved, set()
        for key in waiting:
            self._wake(key)

    async def update_machine(self, machine: Key, desired: Document) -> Progress:
        """Call the extension that updates a Machine. Raises HookError."""
        hook, subject = UPDATE_MACHINE, Subject(MACHINES, machine)
        if self._handler(hook, subject) is None:
            self._unserved.add(machine)
            raise HookError(f"no extensions registered for {hook.name} hook")
        response = await self._caller.call_all(
            hook, subject, {"desired": _visible_objects(desired)}
        )
        return Progress(response.waits, response.message)

    async def can_update_machine(
        self, control_plane: Key, current: Document, desired: Document
    ) -> Sequence[str]:
        """Return the reasons for which a control plane Machine cannot be updated in place; empty if
        it can.

        Raises HookError if that is unknown.
        """
        hook, subject = CAN_UPDATE_MACHINE, Subject(CONTROL_PLANES, control_plane)
        handler = self._handler(hook, subject)
        if handler is None:
            return [_no_handler_message(hook)]
        current, desired = _visible_objects(current), _visible_objects(desired)
        request = {"current": current, "desired": desired}
        response = await self._caller.call(hook, handler.name, subject, request)
        with _add_handler_name(handler):
            return uncovered_by_machine_update(current, desired, response)

    async def can_update_machine_set(
        self, deployment: Key, current: Document, desired: Document
    ) -> Sequence[str]:
        """Return the reasons for which the Machines of a MachineSet cannot be updated in place;
        empty if they can.

        An answer is reused until the templates, the Machines' specs or the ExtensionConfig change,
        for at most `CACHE_SECONDS`, because a rollout asks at every step.
        """
        hook, subject = CAN_UPDATE_MACHINE_SET, Subject(DEPLOYMENTS, deployment)
        handler = self._handler(hook, subject)
        if handler is None:
            return [_no_handler_message(hook)]
        current, desired = _visible_objects(current), _visible_objects(desired)
        question = _CacheKey(
            handler.name, handler.revision, _cache_digest(deployment, current, desired)
        )
        answer = self._said.get(question)
        now = asyncio.get_running_loop().time()
        if answer is not None and answer[0] > now:
            return answer[1]
        request = {"current": current, "desired": desired}
        response = await self._caller.call(hook, handler.name, subject, request)
        with _add_handler_name(handler):
            uncovered = uncovered_by_machine_set_update(current, desired, response)
        self._said[question] = now + CACHE_SECONDS, uncovered
        if len(self._said) > MAX_CACHED:
            self._said.popitem(last=False)
        return uncovered

    def _handler(self, hook: AnyHook, subject: Subject) -> Registration | None:
        """Return the handler of a hook. Raises HookError if there are several."""
        handlers = self._caller.handlers_of(hook, subject)
        if len(handlers) > 1:
            names = ",".join(registration.name for registration in handlers)
            raise HookError(
                f"found multiple {hook.name} hooks ({names}): only one hook is supported"
            )
        return handlers[0] if handlers else None


def _no_handler_message(hook: AnyHook) -> str:
    return f"no extension is registered for {hook.name}"


@contextmanager
def _add_handler_name(handler: Registration) -> Iterator[None]:
    """Add the extension's name to errors about unusable answers."""
    try:
        yield
    except HookError as error:
        raise HookError(f'answer of extension handler "{handler.name}": {error}') from None


def _visible_objects(objects: Document) -> Document:
    """Return the objects in the form that extensions see: spec and basic metadata, no status."""
    return {field: _visible_object(obj) for field, obj in objects.items()}


def _visible_object(document: Document) -> Document:
    metadata = document["metadata"]
    result: Document = {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "metadata": {
            name: metadata[name]
            for name in ("name", "namespace", "labels", "annotations")
            if metadata.get(name)
        },
    }
    if "spec" in document:
        result["spec"] = document["spec"]
    return result


def _cache_digest(deployment: Key, *sides: Document) -> bytes:
    """Return the key of a cached answer about a MachineSet; replicas and labels are not part
    of it.
    """
    compared: list[Any] = [str(deployment)]
    for side in sides:
        for part in MACHINE_SET_PARTS:
            compared.append(value_at(side.get(part.field), part.path))
    return sha256(msgspec.json.encode(compared, order="deterministic")).digest()
