"""Every async test runs on virtual time, unless it is marked `sockets`."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from kapy.engine import private_keys
from kapy.kube.pki import new_key
from kapy.kube.schema import Structural
from kapy.testing.virtual_time import VirtualTimeLoop
from tests.absent import not_run
from tests.oracle.recorded import is_missing
from tests.reused_keys import reusing
from tests.reused_schemas import reusing_compiled

# Collection makes a million objects and no garbage: to look for it takes seconds in each process.
gc.disable()

pytest.MonkeyPatch().setattr(private_keys, "new_key", reusing(new_key))
pytest.MonkeyPatch().setattr(Structural, "compile", reusing_compiled(Structural.compile))

# Tests start processes by the hundred: each would compile all of kapy anew, for seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell that starts the tests in the background has SIGINT ignored, in all that they start, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, and no limit of time: load on the machine fails no test. With
# KAPY_EXAMPLES=N each run tries N other examples.
settings.register_profile(
    "kapy",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore",
    settings.get_profile("kapy"),
    derandomize=False,
    print_blob=True,
    max_examples=int(os.environ.get("KAPY_EXAMPLES", "100")),
)
settings.load_profile("explore" if "KAPY_EXAMPLES" in os.environ else "kapy")

# Hypothesis would parse all modules for constants, for ten seconds in each worker, and its examples
# would depend on the modules that happen to be imported.
pytest.MonkeyPatch().setattr(
    providers, "_get_local_constants", lambda: providers._local_constants, raising=False
)

SLOWEST = (
    "tests/foreign/test_manager",  # a program in Go is built
    "tests/e2e/test_write_a_provider",
    "tests/browser/",
    "tests/testing/conformance/",
    "tests/real/test_managers",
    "tests/real/test_leadership",
    "tests/real/test_shards",
    "tests/e2e/test_extensions",
    "tests/e2e/test_documents",
    "tests/e2e/",
    "tests/foreign/",
    "tests/apps/test_killed",
    "tests/oracle/",
    "tests/stories/",
)
"""Prefixes of the tests that take long, the longest first."""


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], Any]]:
    if item.get_closest_marker("sockets"):
        return {"real-time": asyncio.SelectorEventLoop}
    return {"virtual-time": VirtualTimeLoop}


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """The slowest tests start first. Tests over all of the recorded data need the data."""
    items.sort(key=lambda item: _place(item.nodeid))
    if is_missing():
        recorded = [item for item in items if item.get_closest_marker("recorded")]
        config.hook.pytest_deselected(items=recorded)
        items[:] = [item for item in items if item not in recorded]


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, so that no run traverses them."""
    gc.freeze()
    # Nearly all of a test's objects go without the collector, which took a quarter of its CPU.
    gc.set_threshold(200_000, *gc.get_threshold()[1:])
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: Any, nextitem: Any) -> Iterator[None]:
    """Exclude what a module has left in caches from garbage collection, too.

    Nothing of its tests is in use any more. Later tests that collect garbage traverse only their
    own objects, and not for a second what all modules before them left.
    """
    yield
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def _place(test: str) -> int:
    numbers = (number for number, slow in enumerate(SLOWEST) if test.startswith(slow))
    return next(numbers, len(SLOWEST))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for line in not_run():
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def logging_is_left_as_it_was() -> Iterator[None]:
    """A program that runs in this process must not switch off the logs of what comes after it."""
    yield
    assert logging.root.manager.disable == logging.NOTSET
