"""Runtime extensions in a simulation: their network with its faults, and an extension that blocks
every step once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kapy.api.extension_config import ClientConfig
from kapy.hooks.catalog import own_catalog
from kapy.hooks.extension import Extension
from kapy.hooks.hook import AnyHook
from kapy.hooks.messages.in_place_update import (
    CAN_UPDATE_MACHINE,
    CAN_UPDATE_MACHINE_SET,
    UPDATE_MACHINE,
    Patch,
)
from kapy.hooks.messages.lifecycle import LIFECYCLE
from kapy.hooks.messages.message import FAILURE, RetryResponse
from kapy.hooks.transport import Answer, NoAnswer
from kapy.kube import Document
from kapy.testing.extension import InProcess
from kapy.testing.simulation.network import LATENCY, Network, Process

HOST: Final = "extension"
"""The host of the simulated extension's URL."""
HOLD: Final = 8
"""Seconds for which an extension blocks each step."""
UPDATE: Final = 5
"""Seconds that an update in place takes."""
SILENT: Final = 90.0
"""Seconds until a late response: longer than any timeout of a hook."""
DOWN: Final = 60.0
NONSENSE: Final = b'{"kind":"Pony","apiVersion":"example.com/v1","status":"Success","retryAfter'

Call = tuple[str, str, str]
"""A call of a hook: the hook, the name of a Cluster and a version; "" for none."""


@dataclass(eq=False)
class SimulatedExtension:
    """The runtime extension of one run; it outlives every manager.

    asked, allowed: the calls of lifecycle hooks that it received and that it allowed; asked is None
    if the extension does not record its calls. updating: the names of Machines whose update has
    begun and goes on. begun: the updates that have begun, each as a text.
    """

    extension: Extension
    asked: set[Call] | None = None
    allowed: set[Call] = field(default_factory=set)
    updating: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)

    def lines(self) -> Iterator[str]:
        """Return the recorded calls and updates as text lines."""
        yield f"asked {sorted(self.asked or ())}, allowed {sorted(self.allowed)}"
        yield f"updating {sorted(self.updating)}"
        yield from self.begun


NewExtension = Callable[[], SimulatedExtension]
"""Returns the extension of a new run."""


def holding_extension() -> SimulatedExtension:
    """Return an extension that blocks each step once, and updates Machines in place."""
    extension = Extension()
    result = SimulatedExtension(extension, set())
    for hook in own_catalog():
        if hook.tags == LIFECYCLE and issubclass(hook.response, RetryResponse):
            _add_gate(result, hook)
        elif hook.tags == LIFECYCLE:
            _add_witness(result, hook)
    _add_updates(result)
    return result


def _call(hook: AnyHook, request: Any) -> Call:
    version = getattr(request, "to_kubernetes_version", "")
    version = version or getattr(request, "kubernetes_version", "")
    return hook.name, str(request.cluster["metadata"]["name"]), version


def _add_gate(result: SimulatedExtension, hook: AnyHook) -> None:
    """Add a handler that blocks the first call, and allows the next ones."""

    async def handler(request: Any) -> Any:
        assert result.asked is not None
        call = _call(hook, request)
        if call not in result.asked:
            result.asked.add(call)
            return hook.response.wait(HOLD, f"{hook.name} is held up")
        result.allowed.add(call)
        return hook.response()

    result.extension.handles(hook, name=hook.name.lower())(handler)


def _add_witness(result: SimulatedExtension, hook: AnyHook) -> None:
    """Add a handler that records its calls."""

    async def handler(request: Any) -> Any:
        assert result.asked is not None
        result.asked.add(_call(hook, request))
        return hook.response()

    result.extension.handles(hook, name=hook.name.lower())(handler)


def _add_updates(result: SimulatedExtension) -> None:
    extension = result.extension

    async def can_update_machine(request: Any) -> Any:
        return _everything(CAN_UPDATE_MACHINE, request.desired, ("spec",))

    async def can_update_machine_set(request: Any) -> Any:
        return _everything(CAN_UPDATE_MACHINE_SET, request.desired, ("spec", "template", "spec"))

    async def update_machine(request: Any) -> Any:
        desired = request.desired
        change = repr((desired.machine, desired.infrastructure_machine["spec"]))
        name = desired.machine["metadata"]["name"]
        if change not in result.begun:
            result.begun.add(change)
            result.updating.add(name)
            return UPDATE_MACHINE.response.wait(UPDATE, "the update goes on")
        result.updating.discard(name)
        return UPDATE_MACHINE.response()

    extension.handles(CAN_UPDATE_MACHINE, name="can-update-machine")(can_update_machine)
    extension.handles(CAN_UPDATE_MACHINE_SET, name="can-update-machine-set")(can_update_machine_set)
    extension.handles(UPDATE_MACHINE, name="update-machine")(update_machine)


def _everything(hook: AnyHook, desired: Any, path: tuple[str, ...]) -> Any:
    """Return the response that every change is made in place."""
    patches = {}
    for name in desired.__struct_fields__:
        wanted: Document = getattr(desired, name)
        if wanted:
            value: Any = wanted
            for part in path if name != "machine" else ("spec",):
                value = value[part]
            where = "/".join(("", *(path if name != "machine" else ("spec",))))
            operation = {"op": "replace", "path": where, "value": value}
            patches[f"{name}_patch"] = Patch.operations(operation)
    return hook.response(**patches)


class HookNetwork:
    """The connection of one process to the extension, with faults."""

    def __init__(self, extension: Extension, process: Process, shared: Network) -> None:
        self._way = InProcess(**{HOST: extension})
        self._process = process
        self._shared = shared

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        """Send a request to the extension; return its response. Raises NoAnswer."""
        shared, state = self._shared, self._process.state
        await asyncio.sleep(shared.latency(f"{self._process.manager}/hooks", LATENCY))
        fault = shared.fault(self._process, "h", None)
        kind = "" if fault is None else fault.kind
        now = asyncio.get_running_loop().time()
        if kind == "hook-down":
            state.hooks_down_until = now + DOWN
        if now < state.hooks_down_until or kind == "lost-request":
            raise NoAnswer("dial tcp 10.0.0.1:443: connect: connection refused")
        answer = await self._way(client, url, body)
        shared.trace.add("hook", by=self._process.manager, url=url, code=answer.code)
        match kind:
            case "lost-reply":
                raise NoAnswer("connection reset by peer")
            case "hook-timeout":
                await asyncio.sleep(SILENT)
            case "hook-failed":
                return Answer(500, b"internal error")
            case "hook-refused":
                return Answer(200, _refusal(answer.body))
            case "hook-nonsense":
                return Answer(200, NONSENSE)
        return answer

    async def aclose(self) -> None:
        """Do nothing: the extension is called in process, and no connection is open."""


def _refusal(body: bytes) -> bytes:
    """Return a response of the same kind that describes a failure."""
    answer = msgspec.json.decode(body)
    failed = {name: answer[name] for name in ("kind", "apiVersion") if name in answer}
    return msgspec.json.encode({**failed, "status": FAILURE, "message": "the disk is full"})


def extension_config(name: str = HOST) -> Document:
    """Return the ExtensionConfig of the simulated extension."""
    return {
        "apiVersion": "runtime.cluster.x-k8s.io/v1beta2",
        "kind": "ExtensionConfig",
        "metadata": {"name": name},
        "spec": {"clientConfig": {"url": f"https://{HOST}"}, "namespaceSelector": {}},
    }
