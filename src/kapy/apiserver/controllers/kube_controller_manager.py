"""The other controllers of kube-controller-manager that a server can run.

By default a server runs none of them, like a kube-apiserver that runs alone.
"""

from __future__ import annotations

from kapy.apiserver.controllers.belongings import Belongings
from kapy.apiserver.controllers.disruptions import Disruptions
from kapy.apiserver.controllers.token_secrets import TokenSecrets
from kapy.apiserver.server import Server


def accompany(server: Server, *, authority: str = "") -> None:
    """Run the namespace defaults, disruption and token Secret controllers with the server.

    authority: PEM of the CA that signed the server's certificate; "" if there is none.
    """
    Belongings(server.plane, authority)
    Disruptions(server.plane)
    TokenSecrets(server.plane, server.access.tokens, authority)
