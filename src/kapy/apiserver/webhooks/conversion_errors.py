"""What is wrong with `spec.conversion` of a CustomResourceDefinition.

kube-apiserver names fields as its oldest version had them (`webhookClientConfig`).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import Final

from kapy.apiserver.webhooks.ca_bundle import bundle_problem
from kapy.apiserver.webhooks.client_errors import client_errors, review_version_errors
from kapy.apiserver.webhooks.review_versions import first_known
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden, invalid, not_supported, required

_PATH: Final = "spec.conversion"
_STRATEGIES: Final = ["None", "Webhook"]


def conversion_errors(
    conversion: Document, *, known_needed: bool = True, any_bundle: bool = True
) -> Iterator[FieldError]:
    """The errors. known_needed: a known review version must be listed. any_bundle: the caBundle
    may be anything, as long as the definition is not established."""
    strategy = conversion.get("strategy") or ""
    if not strategy:
        yield required(f"{_PATH}.strategy")
    elif strategy not in _STRATEGIES:
        yield not_supported(f"{_PATH}.strategy", strategy, _STRATEGIES)
    hook = conversion.get("webhook") or {}
    client, versions = hook.get("clientConfig"), versions_of(conversion)
    where, listed = f"{_PATH}.webhookClientConfig", f"{_PATH}.conversionReviewVersions"
    if strategy != "Webhook":
        why = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield forbidden(where, why)
        if versions:
            yield forbidden(listed, why)
        return
    if client is None:
        yield required(where, "required when strategy is set to Webhook")
    else:
        yield from client_errors(client, where)
        bundle = client.get("caBundle") or ""
        if not any_bundle and (problem := bundle_problem(b64decode(bundle))):
            yield invalid(f"{where}.caBundle", bundle, problem)
    yield from review_version_errors(versions, listed, missing="", known_needed=known_needed)


def versions_of(conversion: Document) -> Sequence[str]:
    """The review versions that a conversion lists."""
    return (conversion.get("webhook") or {}).get("conversionReviewVersions") or ()


def needs_known_version(old: Document) -> bool:
    """Whether an update must list a known review version: unless the old conversion had none."""
    versions = versions_of(old)
    return not versions or bool(first_known(versions))


def has_bad_bundle(conversion: Document) -> bool:
    """Whether the caBundle is none."""
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    return bool(bundle_problem(b64decode(client.get("caBundle") or "")))
