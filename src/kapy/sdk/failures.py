"""What a provider could not do, as an Event on its object."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kapy.engine.events import Recorder
from kapy.engine.failure import is_ordinary, is_ours, told
from kapy.kube import Document
from kapy.kube.errors import KapyError


class ProviderMistake(KapyError):
    """A provider's answer breaks its contract; the message says which rule."""


@contextmanager
def tell_failures(events: Recorder, about: Document, reason: str) -> Iterator[None]:
    """Record a Warning about an error that passes through; the controller backs off from it.

    The text of an error that was not raised on purpose is not shown: nobody knows what it quotes.
    """
    try:
        yield
    except Exception as error:
        if not is_ordinary(error):
            events.warning(about, reason, told(error) if is_ours(error) else type(error).__name__)
        raise
