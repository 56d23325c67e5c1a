"""What goes wrong before anything can be judged."""

from __future__ import annotations

from kapy.kube.errors import KapyError


class ConformanceError(KapyError):
    """What is to be checked cannot be read; the message names the file and the way out."""


class SubjectError(ConformanceError):
    """The provider does not start, or has died; the message says how, and the way out."""
