"""The errors between kapy and a runtime extension.

KapyError
└── HookError
    ├── BadMessage      a request or response that does not fit its hook
    ├── BadDiscovery    an invalid answer to Discovery
    ├── BadAddress      a client configuration without a valid URL
    └── HookFailed      an extension's own refusal
"""

from __future__ import annotations

from kapy.kube.errors import KapyError


class HookError(KapyError):
    """An extension cannot be called, or its answer cannot be used."""


class BadMessage(HookError):
    """A request or a response does not fit its hook."""


class BadDiscovery(HookError):
    """The handlers that an extension reports are invalid."""


class BadAddress(HookError):
    """A client configuration has no valid URL, or a handler name is invalid."""


class HookFailed(HookError):
    """Raised by a handler to answer with status Failure; its message is shown to the user."""
