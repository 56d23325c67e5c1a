"""What can be wrong between kapy and a runtime extension.

KapyError
└── HookError
    ├── BadMessage      a request or response that is not what its hook says
    ├── BadDiscovery    an answer to Discovery that cannot be accepted
    ├── BadAddress      a client configuration that makes no URL
    └── HookFailed      an extension's own answer: no
"""

from __future__ import annotations

from kapy.kube.errors import KapyError


class HookError(KapyError):
    """An extension cannot be asked, or its answer cannot be used."""


class BadMessage(HookError):
    """A request or a response is not what its hook says it is."""


class BadDiscovery(HookError):
    """What an extension says about its handlers cannot be accepted."""


class BadAddress(HookError):
    """A client configuration says no place that can be called, or a name is none of a handler."""


class HookFailed(HookError):
    """Raised by a handler to answer with status Failure; its message is shown to the user."""
