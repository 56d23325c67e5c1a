"""The objects that a provider's webhooks need in a cluster: a Service and configurations.

There is no certificate among them: the program creates one and injects its CA
(`kapy.apps.program.webhook_serving`), or uses cert-manager's if its Secret exists.
"""

from __future__ import annotations

from kapy.apps.components.serving import client_config, webhook_service
from kapy.kube import Document
from kapy.sdk.admission import Rulebook
from kapy.sdk.admission_configurations import webhook_configurations


def webhooks_of(
    rules: Rulebook, prefix: str, namespace: str, selector: dict[str, str]
) -> list[Document]:
    """Return the objects. selector: selects the Pods of the program."""
    client = client_config(prefix, namespace)
    return [
        webhook_service(prefix, namespace, selector),
        *webhook_configurations(rules, f"{prefix}-webhook-configuration", client),
    ]
