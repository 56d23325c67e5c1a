"""The ExtensionConfig that registers an extension by URL."""

from __future__ import annotations

from base64 import b64encode

from kapy.api.names import Annotation
from kapy.kube import Document


def extension_config(name: str, url: str, ca: bytes, *, secret: str = "") -> Document:
    """The manifest. ca: PEM of the authority that the server's certificate is checked against.

    secret: namespace and name of the Secret from which core is to take it, now and when it changes.
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
