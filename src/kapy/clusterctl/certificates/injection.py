"""Sets `caBundle` in the webhooks and CRDs that ask for it with `inject-ca-from`. Pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

from kapy.clusterctl.certificates import INJECT_FROM_SECRET
from kapy.clusterctl.components.namespace import INJECT_CA_FROM
from kapy.kube import Document, Key

WEBHOOKS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


def source(document: Document) -> tuple[Key | None, Key | None]:
    """Return the Certificate or Secret whose CA an object asks to be injected."""
    annotations = document["metadata"].get("annotations") or {}
    return _key(annotations.get(INJECT_CA_FROM)), _key(annotations.get(INJECT_FROM_SECRET))


def inject_bundles(
    document: Document, bundles: Mapping[Key, bytes], by_secret: Mapping[Key, bytes]
) -> Document:
    """Return the object with the CA bundle that it asks for; the same object if it asks for none of
    these.
    """
    certificate, secret = source(document)
    bundle = bundles.get(certificate) if certificate else None
    if bundle is None and secret is not None:
        bundle = by_secret.get(secret)
    return document if bundle is None else with_bundle(document, b64encode(bundle).decode())


def with_bundle(document: Document, bundle: str) -> Document:
    """Return a CRD, webhook configuration or APIService with `bundle` (base64) as CA bundle."""
    if document["kind"] in WEBHOOKS:
        webhooks = [_webhook_with_bundle(item, bundle) for item in document.get("webhooks") or []]
        return {**document, "webhooks": webhooks}
    spec = document.get("spec") or {}
    if document["kind"] == "APIService":
        return {**document, "spec": {**spec, "caBundle": bundle}}
    webhook = (spec.get("conversion") or {}).get("webhook")
    if webhook is None:
        return document  # a CRD without a conversion webhook
    conversion = {**spec["conversion"], "webhook": _webhook_with_bundle(webhook, bundle)}
    return {**document, "spec": {**spec, "conversion": conversion}}


def _webhook_with_bundle(webhook: Document, bundle: str) -> Document:
    client = webhook.get("clientConfig") or {}
    return {**webhook, "clientConfig": {**client, "caBundle": bundle}}


def _key(reference: str | None) -> Key | None:
    return Key(*reference.split("/", 1)) if reference and "/" in reference else None
