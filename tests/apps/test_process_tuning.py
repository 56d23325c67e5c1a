"""The tuning of a process lasts as long as its context."""

from __future__ import annotations

import gc
from asyncio.sslproto import SSLProtocol

from kapy.apps.process_tuning import TLS_BUFFER, YOUNG_THRESHOLD, tuned_process


def test_a_process_is_tuned_while_the_context_is_open() -> None:
    before = gc.get_threshold(), SSLProtocol.max_size
    with tuned_process():
        assert gc.get_threshold()[0] == YOUNG_THRESHOLD
        assert SSLProtocol.max_size == TLS_BUFFER
    assert (gc.get_threshold(), SSLProtocol.max_size) == before
