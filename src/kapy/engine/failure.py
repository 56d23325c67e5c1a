"""Classify the errors of a reconcile, and describe them in one line."""

from __future__ import annotations

from kapy.kube.errors import ApiError, Conflict, KapyError


class NotYet(KapyError):
    """An object or value that the reconcile needs does not exist yet.

    It is retried with back-off like any error, but logged at debug level only.
    """


def reasons(error: BaseException) -> list[BaseException]:
    """Return the leaf errors of a (nested) exception group in order; otherwise the error itself."""
    if isinstance(error, BaseExceptionGroup):
        return [reason for part in error.exceptions for reason in reasons(part)]
    return [error]


def describe_error(error: BaseException) -> str:
    """Describe an error in one line: every reason with its type."""
    lines = (f"{type(reason).__name__}: {reason}" for reason in reasons(error))
    return "; ".join(dict.fromkeys(lines))


def is_transient(error: BaseException) -> bool:
    """Return whether the next try will most likely succeed, so that no user needs to look."""
    return all(isinstance(reason, (Conflict, NotYet)) for reason in reasons(error))


def is_expected(error: BaseException) -> bool:
    """Return whether every reason is an expected error; any other error is a bug and needs a
    traceback.
    """
    return all(isinstance(reason, KapyError) for reason in reasons(error))


def retry_after(error: BaseException) -> float:
    """Return the longest Retry-After in seconds, 0 if there is none."""
    retries = (reason.retry_after for reason in reasons(error) if isinstance(reason, ApiError))
    return max((seconds for seconds in retries if seconds is not None), default=0.0)
