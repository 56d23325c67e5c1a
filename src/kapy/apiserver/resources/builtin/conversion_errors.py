"""Validation of `spec.conversion` of a CustomResourceDefinition.

kube-apiserver reports field paths of the v1beta1 API (`webhookClientConfig`).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import Final

from kapy.apiserver.resources.builtin.webhook_client_errors import (
    client_errors,
    review_version_errors,
)
from kapy.apiserver.resources.ca_bundle import bundle_problem
from kapy.apiserver.resources.review_versions import first_supported
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden, invalid, not_supported, required

_PATH: Final = "spec.conversion"
_STRATEGIES: Final = ["None", "Webhook"]


def conversion_errors(
    conversion: Document, *, known_needed: bool = True, any_bundle: bool = True
) -> Iterator[FieldError]:
    """Yield the errors of a conversion.

    known_needed: a supported review version must be listed. any_bundle: accept any caBundle, as for
    a definition that is not established yet.
    """
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
    """Return the review versions that a conversion lists."""
    return (conversion.get("webhook") or {}).get("conversionReviewVersions") or ()


def needs_known_version(old: Document) -> bool:
    """Report whether an update must list a supported review version.

    It need not if the old conversion listed only unsupported ones.
    """
    versions = versions_of(old)
    return not versions or bool(first_supported(versions))


def has_bad_bundle(conversion: Document) -> bool:
    """Report whether the caBundle contains no valid certificate."""
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    return bool(bundle_problem(b64decode(client.get("caBundle") or "")))
