"""The ExtensionConfig that registers an extension by URL."""

from __future__ import annotations

from base64 import b64encode

from kapy.api.names import Annotation
from kapy.kube import Document


def extension_config(name: str, url: str, ca: bytes, *, secret: str = "") -> Document:
    """Return the ExtensionConfig of an extension. ca: the CA (PEM) that verifies the server's
    certificate.

    secret: namespace and name of the Secret from which core injects the CA and its later changes.
    """
    client: Document = {"url": url}
    metadata: Document = {"name": name}
    if secret:
        metadata["annotations"] = {Annotation.INJECT_CA_FROM_SECRET: secret}
    elif ca:
        client["caBundle"] = b64encode(ca).decode("ascii")
    return {
        "apiVersion": "runtime.cluster.x-k8s.io/v1beta2",
        "kind": "ExtensionConfig",
        "metadata": metadata,
        "spec": {"clientConfig": client},
    }
