"""The server: it routes and authorizes requests, and passes them to the handlers of the verbs."""

from kapy.apiserver.admission.plugin import Admission, Review
from kapy.apiserver.resources.version_converter import Convert
from kapy.apiserver.server.server import BOOKMARK_SECONDS, Server, ServerWithoutKubelets
from kapy.apiserver.store.errors import StoreError, StoreInUse, StoreTooNew

__all__ = [
    "BOOKMARK_SECONDS",
    "Admission",
    "Convert",
    "Review",
    "Server",
    "ServerWithoutKubelets",
    "StoreError",
    "StoreInUse",
    "StoreTooNew",
]
