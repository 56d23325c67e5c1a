"""The errors that stop a check or a run."""

from __future__ import annotations

from kapy.kube.errors import KapyError


class ConformanceError(KapyError):
    """The input cannot be read; the message names the file and the remedy."""


class SubjectError(ConformanceError):
    """The provider does not start, or has ended; the message says how, and the remedy."""


class CannotRun(KapyError):
    """A check could not run because a precondition was not met; the message says which."""


class NotApplicable(KapyError):
    """The provider does not offer what the rule applies to; the message says what."""
