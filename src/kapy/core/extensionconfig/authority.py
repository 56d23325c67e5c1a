"""Phase: inject the CA of a server from the Secret that an annotation names.

This corresponds to cert-manager's injector for webhooks (upstream's `inject-ca-from-secret`).
"""

from __future__ import annotations

from typing import Final

from kapy.api.names import Annotation
from kapy.client.client import Client
from kapy.core.extensionconfig.scope import ConfigScope
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import SECRETS

_ENTRY: Final = "ca.crt"
_FAILED: Final = "failed to reconcile caBundle"


class NoAuthority(KapyError):
    """The Secret that an annotation names cannot be used."""


async def inject_authority(scope: ConfigScope) -> None:
    """Write the CA into the ExtensionConfig. Raises NoAuthority."""
    name = scope.config.metadata.annotations.get(Annotation.INJECT_CA_FROM_SECRET)
    if name is None:
        return
    bundle = await bundle_of(scope.dependencies.client, name)
    if scope.config.spec.client_config.ca_bundle != bundle:
        scope.config.spec.client_config.ca_bundle = bundle
        await scope.draft.save_spec()


async def bundle_of(client: Client, name: str) -> str:
    """Return the CA, PEM in base64, from the Secret with that namespaced name. Raises
    NoAuthority.
    """
    namespace, _, secret = name.partition("/")
    if not namespace or not secret:
        raise NoAuthority(f'{_FAILED}: secret name "{name}" must be in the form <namespace>/<name>')
    try:
        document = await client.get(SECRETS, Key(namespace, secret))
    except KapyError as error:
        raise NoAuthority(f'{_FAILED}: failed to get secret "{name}": {error}') from error
    data = document.get("data") or {}
    if _ENTRY not in data:
        raise NoAuthority(f'{_FAILED}: secret {name} does not contain a "{_ENTRY}" entry')
    return str(data[_ENTRY])


def secret_of(config: Document) -> Key | None:
    """Return the Secret that an ExtensionConfig's annotation names."""
    annotations = config["metadata"].get("annotations") or {}
    namespace, _, name = annotations.get(Annotation.INJECT_CA_FROM_SECRET, "").partition("/")
    return Key(namespace, name) if namespace and name else None
