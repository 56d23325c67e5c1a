"""Run a Python provider in this process, on virtual time."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from kapy._aio.services import run_services
from kapy.engine.options import ManagerOptions
from kapy.engine.runtime import Runtime
from kapy.kube.http import Transport
from kapy.testing.conformance.environment import Environment
from kapy.testing.conformance.errors import SubjectError
from kapy.testing.conformance.provider_under_test import Limits

Services: TypeAlias = Mapping[str, Callable[[], Awaitable[None]]]
Add: TypeAlias = Callable[[Runtime], Services | None]
"""Adds a provider's controllers to a runtime; returns services to run beside it, by name."""


@dataclass(frozen=True)
class InProcess:
    """Launches a provider by calling `add` on a new runtime. around: wraps the runtime's
    transport.
    """

    add: Add
    around: Callable[[Transport], Transport] | None = None
    network: bool = False
    restarts: bool = True

    @asynccontextmanager
    async def running(self, environment: Environment, limits: Limits) -> AsyncIterator[None]:
        """Run the provider while the context is open."""
        transport = environment.transport
        assert transport is not None  # an embedded server has one
        if self.around is not None:
            transport = self.around(transport)
        options = ManagerOptions(namespace=limits.namespace, watch_filter=limits.watch_filter)
        runtime = Runtime.on(
            transport,
            clock=environment.clock,
            field_manager="provider",
            random=Random(7),
            options=options,
        )
        try:
            services = self.add(runtime) or {}
            async with run_services(runtime=runtime.run, **services):
                await runtime.working.wait()
                yield
        except BaseExceptionGroup as group:
            raise SubjectError(f"the provider ended with an error: {_first(group)}") from None


def _first(group: BaseExceptionGroup[BaseException]) -> str:
    """Return the first error in a group, however deeply nested."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def added_by(name: str) -> Add:
    """Import the function that `module:function` names; of a class, `add_to` of an instance.

    Raises SubjectError.
    """
    result = import_provider(name)
    add: Add = result().add_to if isinstance(result, type) else result
    return add


def import_provider(name: str) -> Any:
    """Import the function or class that `module:function` names. Raises SubjectError."""
    module, _, function = name.partition(":")
    if not module or not function:
        raise SubjectError(f'"{name}" is not MODULE:FUNCTION, as in my_provider.controllers:add')
    sys.path.insert(0, os.getcwd())
    try:
        result = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise SubjectError(
            f"{name} cannot be imported: {error}; run the command where the module can be found, "
            "or set PYTHONPATH"
        ) from None
    finally:
        sys.path.pop(0)
    if not callable(result):
        raise SubjectError(f"{name} is no function: it has to take a kapy.sdk.Runtime")
    if isinstance(result, type) and not callable(getattr(result, "add_to", None)):
        raise SubjectError(f"{name} has no method add_to: it has to take a kapy.sdk.Runtime")
    return result
