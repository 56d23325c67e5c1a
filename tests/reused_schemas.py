"""Compiled schemas for all planes of a test process: each plane serves the same definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kapy.kube import Document
from kapy.kube.schema import RuleChecker, Structural

Compile = Callable[..., Structural]


def reusing_compiled(compile_schema: Compile) -> Compile:
    """Compile as `compile_schema` does, but each schema only once for all that ask.

    Nothing changes a compiled schema, so planes can share it.
    """
    compiled: dict[Any, Structural] = {}

    def compile_once(schema: Document, *, rules: RuleChecker | None = None) -> Structural:
        key = (rules, msgspec.json.encode(schema))
        if key not in compiled:
            compiled[key] = compile_schema(schema, rules=rules)
        return compiled[key]

    return compile_once
