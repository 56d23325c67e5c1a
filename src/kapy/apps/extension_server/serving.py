"""Serves an extension on a port."""

from __future__ import annotations

from functools import partial
from typing import Final

from kapy.apps.extension_server.protocol import HookProtocol
from kapy.apps.https.serving import serve

serve_extension: Final = partial(serve, protocol=HookProtocol)
"""As `serving`, with a protocol that costs less than ASGI's."""
