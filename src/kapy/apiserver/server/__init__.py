"""The server: it routes and authorizes requests, and answers them by the handlers of the verbs."""

from kapy.apiserver.admission.plugin import Admission, Review
from kapy.apiserver.server.server import BOOKMARK_SECONDS, Server
from kapy.apiserver.store.errors import StoreError, StoreInUse, StoreTooNew
from kapy.apiserver.verbs.context import Convert

__all__ = [
    "BOOKMARK_SECONDS",
    "Admission",
    "Convert",
    "Review",
    "Server",
    "StoreError",
    "StoreInUse",
    "StoreTooNew",
]
