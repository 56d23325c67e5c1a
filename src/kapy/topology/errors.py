"""Why there is no desired state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kapy.kube.errors import ApiError, KapyError, Unreachable


class CannotCompute(KapyError):
    """The desired state cannot be computed; the message says of which object, and why."""


@contextmanager
def computing(what: str) -> Iterator[None]:
    """Names what failed. Errors of the server pass: who asked it knows what to do with them."""
    try:
        yield
    except (ApiError, Unreachable):
        raise
    except KapyError as error:
        raise CannotCompute(f"failed to {what}: {error}") from error
