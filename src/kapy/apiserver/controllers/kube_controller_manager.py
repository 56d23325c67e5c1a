"""What kube-controller-manager does in a cluster beside collecting garbage and emptying namespaces.

A server by itself does none of it, like a kube-apiserver that runs alone.
"""

from __future__ import annotations

from kapy.apiserver.controllers.belongings import Belongings
from kapy.apiserver.controllers.disruptions import Disruptions
from kapy.apiserver.controllers.token_secrets import TokenSecrets
from kapy.apiserver.server import Server


def accompany(server: Server, *, authority: str = "") -> None:
    """Let namespaces, budgets and token Secrets be completed as long as the server lives.

    authority: PEM of the CA that signed the server's certificate; "" where there is none.
    """
    Belongings(server.plane, authority)
    Disruptions(server.plane)
    TokenSecrets(server.plane, server.access.tokens, authority)
