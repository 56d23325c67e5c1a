"""Errors that prevent the computation of a desired state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kapy.kube.errors import ApiError, KapyError, Unreachable


class CannotCompute(KapyError):
    """The desired state cannot be computed; the message names the object and the reason."""


@contextmanager
def name_failed_step(step: str) -> Iterator[None]:
    """Wrap errors with the name of the failed step. Errors of the API server pass unchanged,
    because callers handle these."""
    try:
        yield
    except (ApiError, Unreachable):
        raise
    except KapyError as error:
        raise CannotCompute(f"failed to {step}: {error}") from error
