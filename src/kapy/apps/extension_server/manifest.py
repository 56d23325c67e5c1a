"""The ExtensionConfig that registers an extension by URL."""

from __future__ import annotations

from base64 import b64encode

from kapy.kube import Document


def extension_config(name: str, url: str, ca: bytes) -> Document:
    """The manifest. ca: PEM of the authority that the server's certificate is checked against."""
    client: Document = {"url": url}
    if ca:
        client["caBundle"] = b64encode(ca).decode("ascii")
    return {
        "apiVersion": "runtime.cluster.x-k8s.io/v1beta2",
        "kind": "ExtensionConfig",
        "metadata": {"name": name},
        "spec": {"clientConfig": client},
    }
