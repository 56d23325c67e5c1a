"""Failures of a reconcile: which are ordinary, and how they read in one line."""

from __future__ import annotations

from kapy.kube.errors import ApiError, Conflict, KapyError


class NotYet(KapyError):
    """An object or value that the reconcile needs does not exist yet.

    Part of ordinary life: retried with back-off like any error, but not shouted about.
    """


def reasons(error: BaseException) -> list[BaseException]:
    """The errors that a (nested) group is made of, in their order; the error itself otherwise."""
    if isinstance(error, BaseExceptionGroup):
        return [reason for part in error.exceptions for reason in reasons(part)]
    return [error]


def told(error: BaseException) -> str:
    """One line: every reason with its kind."""
    lines = (f"{type(one).__name__}: {one}" for one in reasons(error))
    return "; ".join(dict.fromkeys(lines))


def is_ordinary(error: BaseException) -> bool:
    """Whether the next try will most likely do, and nobody needs to look."""
    return all(isinstance(one, (Conflict, NotYet)) for one in reasons(error))


def is_ours(error: BaseException) -> bool:
    """Whether every reason was raised on purpose; anything else is a bug and wants a traceback."""
    return all(isinstance(one, KapyError) for one in reasons(error))


def patience(error: BaseException) -> float:
    """Seconds that a server asked to be left alone (Retry-After), 0 when none did."""
    asked = (one.retry_after for one in reasons(error) if isinstance(one, ApiError))
    return max((seconds for seconds in asked if seconds is not None), default=0.0)
