"""What a provider's webhooks need in a cluster: a Service and configurations.

No certificate: the program makes one, and tells the API server whom to trust
(`kapy.apps.program.webhook_serving`). It takes cert-manager's where somebody has it write the
Secret.
"""

from __future__ import annotations

from kapy.apps.components.serving import client_config, webhook_service
from kapy.kube import Document
from kapy.sdk.admission import Rulebook
from kapy.sdk.admission_configurations import webhook_configurations


def webhooks_of(
    rules: Rulebook, prefix: str, namespace: str, selector: dict[str, str]
) -> list[Document]:
    """The objects. selector: of the pods that answer."""
    client = client_config(prefix, namespace)
    return [
        webhook_service(prefix, namespace, selector),
        *webhook_configurations(rules, f"{prefix}-webhook-configuration", client),
    ]
