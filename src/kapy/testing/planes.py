"""Management planes for tests of providers and extensions.

    async with plane(providers=["nimbus"], extensions={"gate": extension}) as there:
        await there.apply(Path("cluster.yaml").read_text())
        await there.until(Cluster, "capybara", lambda one: one.status.phase == "Provisioned")

A plane keeps everything in memory and ends with its context. It uses the time of the event loop:
real time, or with `@on_virtual_time` virtual time, in which hours of waiting take no time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from random import Random
from typing import Any, Final, ParamSpec, TypeVar

from kapy._aio.clock import loop_clock, system_clock
from kapy.api.extension_config import ExtensionConfig
from kapy.api.features import FeatureGates
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.extension_server.manifest import extension_config
from kapy.apps.feature_gates import feature_gates
from kapy.apps.manifests import apply_manifests, read_manifests
from kapy.apps.modules import module_at
from kapy.apps.provider.loading import provider_at
from kapy.apps.settings import EMBEDDED_GATES, EMBEDDED_OPTIONS, ControllerConfig, Serving, Settings
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig, with_context
from kapy.hooks.application import Application
from kapy.hooks.extension import Extension
from kapy.kube import Document, yaml
from kapy.kube.errors import KapyError
from kapy.kube.names import Resource, split_api_version
from kapy.sdk.provider import Provider
from kapy.testing.extension import InProcess
from kapy.testing.story import Story
from kapy.testing.virtual_time import VirtualTimeLoop

T = TypeVar("T")
P = ParamSpec("P")

STARTING: Final = 120.0
"""The maximum number of seconds until a plane in a thread is ready, on a machine with other
work."""


class BadTestPlane(KapyError):
    """A test requests a plane that is impossible; the message says what to change."""


class RunningPlane(Story):
    """A running management plane for a test. client: an in-process client with the rights of its
    administrator.
    """

    def __init__(self, running: ManagementPlane) -> None:
        super().__init__(running.client, ())
        self._running = running

    def resource_of(self, document: Document) -> Resource:
        """Return the resource of a document's kind. Raises BadTestPlane."""
        group, version = split_api_version(document["apiVersion"])
        kind = self._running.server.context.registry.find_kind(group, version, document["kind"])
        if kind is None:
            raise BadTestPlane(
                f"the plane serves no {document['kind']} of {document['apiVersion']}"
            )
        return kind.resource

    async def apply(self, objects: str | Sequence[Document]) -> list[Document]:
        """Apply a YAML text, or documents, server-side; return the stored objects."""
        documents = read_manifests(objects, "text") if isinstance(objects, str) else objects
        return await apply_manifests(self.client, documents)

    @property
    def server(self) -> str:
        """Return the URL of the API server. Raises BadTestPlane if the plane serves no network."""
        return self._access.server

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig of its administrator. Raises BadTestPlane as `server`."""
        path.write_text(yaml.dump(with_context({}, "kapy", self._access)), encoding="utf-8")
        path.chmod(0o600)
        return path

    @property
    def _access(self) -> Kubeconfig:
        if self._running.kubeconfig is None:
            raise BadTestPlane("this plane serves no network; ask for it: plane(serve=True)")
        return self._running.kubeconfig


@asynccontextmanager
async def plane(
    *,
    providers: Sequence[Provider | str] = (),
    extensions: Mapping[str, Extension | str] | None = None,
    gates: Mapping[str, bool] | None = None,
    serve: bool = False,
    seed: int = 0,
) -> AsyncIterator[RunningPlane]:
    """Run a management plane while the context is open.

    providers: custom providers, or their `MODULE[:NAME]`. extensions: runtime extensions, or their
    `MODULE[:NAME]`, by name; they are called in process. gates: feature gates, such as
    {"MachinePool": False}. serve: whether to serve HTTPS on a port of 127.0.0.1, too, for other
    programs. seed: the seed of generated names.

    Raises BadTestPlane, and the errors of starting a plane.
    """
    is_virtual = isinstance(asyncio.get_running_loop(), VirtualTimeLoop)
    if serve and is_virtual:
        raise BadTestPlane(
            "serve=True needs the machine's time: programs that ask over the network take some; "
            "leave @on_virtual_time away"
        )
    apps = {name: _extension(extension) for name, extension in (extensions or {}).items()}
    options = replace(EMBEDDED_OPTIONS, gates=_gates(gates or {}, asks=bool(apps)))
    settings = Settings(
        serving=Serving() if serve else None,
        controllers=ControllerConfig(manager=options),
        providers=tuple(
            provider_at(provider) if isinstance(provider, str) else provider
            for provider in providers
        ),
    )
    clock = loop_clock() if is_virtual else system_clock
    post = InProcess(**apps) if apps else None
    async with management_plane(settings, clock=clock, random=Random(seed), post=post) as running:
        for name in apps:
            config = extension_config(name, f"https://{name}", b"")
            await running.client.create(ExtensionConfig.RESOURCE, config)
        yield RunningPlane(running)


def _extension(extension: Extension | str) -> Extension:
    if isinstance(extension, Extension):
        return extension
    module, _, name = extension.partition(":")
    result = getattr(module_at(module, "extension"), name or "extension", None)
    if isinstance(result, Application):
        return result.extension
    if not isinstance(result, Extension):
        raise BadTestPlane(f"{extension} is no kapy.hooks.Extension")
    return result


def _gates(values: Mapping[str, bool], *, asks: bool) -> FeatureGates:
    words = [f"{name}={str(is_open).lower()}" for name, is_open in values.items()]
    gates = feature_gates(words, EMBEDDED_GATES)
    return replace(gates, runtime_sdk=True) if asks else gates


def on_virtual_time(test: Callable[P, Awaitable[T]]) -> Callable[P, T]:
    """Run a coroutine function, such as a test, on its own event loop whose clock skips all waits:
    waiting for hours takes no time."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        async def body() -> T:
            return await test(*args, **kwargs)

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            return runner.run(body())

    return run


class BackgroundPlane:
    """A plane in a thread, on the machine's time, for tests without an event loop.

    kubeconfig: a file for kubectl, client libraries and programs under test. server: its URL.
    """

    def __init__(
        self, running: RunningPlane, kubeconfig: Path, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.kubeconfig = kubeconfig
        self.server = running.server
        self._running = running
        self._loop = loop

    def run(self, work: Callable[[RunningPlane], Awaitable[T]], *, within: float = 600.0) -> T:
        """Call a function with the plane in its thread: `run(lambda plane: plane.apply(text))`."""

        async def body() -> T:
            return await work(self._running)

        return asyncio.run_coroutine_threadsafe(body(), self._loop).result(within)

    def apply(self, objects: str | Sequence[Document]) -> list[Document]:
        """Apply objects as `RunningPlane.apply` does."""
        return self.run(lambda running: running.apply(objects))

    @property
    def client(self) -> Client:
        """The client of the plane, for use in `run`: it belongs to the plane's event loop."""
        return self._running.client


@contextmanager
def background_plane(kubeconfig: Path, **options: Any) -> Iterator[BackgroundPlane]:
    """Run a management plane in a thread while the context is open. kubeconfig: the file to write;
    options: the options of `plane`."""
    loop = asyncio.new_event_loop()
    ended, started = asyncio.Event(), threading.Event()
    result: list[RunningPlane] = []
    failures: list[BaseException] = []

    async def live() -> None:
        async with plane(**options, serve=True) as running:
            result.append(running)
            started.set()
            await ended.wait()

    def work() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(live())
        except BaseException as error:
            failures.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=work, name="kapy-plane", daemon=True)
    thread.start()
    if not started.wait(STARTING):
        raise BadTestPlane(f"the plane was not ready within {STARTING:.0f} s")
    if failures:
        raise failures[0]
    try:
        result[0].kubeconfig(kubeconfig)
        yield BackgroundPlane(result[0], kubeconfig, loop)
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(ended.set)
        thread.join(STARTING)
    if failures:
        raise failures[0]
