"""Why something cannot be judged, or not now."""

from __future__ import annotations

from kapy.kube.errors import KapyError


class ConformanceError(KapyError):
    """What is to be checked cannot be read; the message names the file and the way out."""


class SubjectError(ConformanceError):
    """The provider does not start, or has died; the message says how, and the way out."""


class CannotRun(KapyError):
    """A check could not be done: what it needs did not come about; the message says what."""


class NotApplicable(KapyError):
    """The provider does not offer what the rule is about; the message says what."""
