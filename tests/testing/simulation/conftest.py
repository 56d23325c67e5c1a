"""The tutorial's provider, and which tests are collected.

The exhaustive part takes minutes: it is collected for `make exhaustive` and `make soak` only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

collect_ignore = (
    [] if {"KAPY_EXHAUSTIVE", "KAPY_SOAK"} & os.environ.keys() else ["test_exhaustive.py"]
)
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def nimbus(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the tutorial's provider."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "provider-nimbus"))
    import_module("nimbus.fake_cloud")
    import_module("nimbus.provider")
    yield sys.modules["nimbus"]
    for name in [module for module in sys.modules if module.partition(".")[0] == "nimbus"]:
        del sys.modules[name]
