"""The other controllers of kube-controller-manager that a server can run.

By default a server runs none of them, like a kube-apiserver that runs alone.
"""

from __future__ import annotations

from kapy.apiserver.controllers.disruption import DisruptionController
from kapy.apiserver.controllers.namespaces import NamespaceDefaults
from kapy.apiserver.controllers.token_secrets import TokenSecretController
from kapy.apiserver.server import Server


def add_kube_controllers(server: Server, *, authority: str = "") -> None:
    """Run the namespace defaults, disruption and token Secret controllers with the server.

    authority: PEM of the CA that signed the server's certificate; "" if there is none.
    """
    NamespaceDefaults(server.context, authority)
    DisruptionController(server.context)
    TokenSecretController(server.context, server.access.tokens, authority)
