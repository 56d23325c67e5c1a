"""The exhaustive part takes minutes: it is collected for `make exhaustive` and `make soak` only."""

from __future__ import annotations

import os

collect_ignore = (
    [] if {"KAPY_EXHAUSTIVE", "KAPY_SOAK"} & os.environ.keys() else ["test_exhaustive.py"]
)
