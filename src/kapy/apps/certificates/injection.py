"""Injects CAs: sets `caBundle` in objects with one of cert-manager's annotations."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from typing import Final

from kapy.apps.certificates.controllers import Certificates
from kapy.clusterctl.certificates import CERTIFICATES, INJECT_FROM_SECRET
from kapy.clusterctl.certificates.injection import WEBHOOKS, source, with_bundle
from kapy.clusterctl.certificates.issuing import value
from kapy.clusterctl.certificates.own import INJECTED_RESOURCES
from kapy.clusterctl.components.namespace import INJECT_CA_FROM
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS, Resource

_CERTIFICATE_INDEX: Final = "certificates that are asked for"
ALLOWED: Final = "cert-manager.io/allow-direct-injection"
"""Annotation of Secrets that may be named themselves."""


def add_injection(shared: Certificates) -> None:
    """Add the controllers that set `caBundle` in CRDs and webhook configurations."""
    for resource in INJECTED_RESOURCES:
        if resource.group == "apiregistration.k8s.io":
            continue  # a plane has no aggregated API servers
        informer = shared.runtime.cache.informer(resource)
        informer.add_index(_CERTIFICATE_INDEX, _sources)
        controller = Controller(
            f"authorities of {resource.plural}",
            partial(_inject, shared, resource, informer),
            concurrency=1,
        )
        controller.watch(informer, _if_annotated)
        about = partial(_targets_of, shared, informer)
        controller.watch(shared.certificates, partial(about, CERTIFICATES))
        controller.watch(shared.secrets, partial(about, SECRETS))
        shared.runtime.add(controller, informer)


def _if_annotated(change: Change) -> Iterator[Key]:
    annotations = change.document["metadata"].get("annotations") or {}
    if INJECT_CA_FROM in annotations or INJECT_FROM_SECRET in annotations:
        yield Key.of(change.document)


def _targets_of(
    shared: Certificates, informer: Informer[Document], kind: Resource, change: Change
) -> Iterator[Key]:
    """The objects that ask for the CA of a Certificate or Secret."""
    place = Key.of(change.document)
    request = [f"{kind.kind} {place}"]
    if kind is SECRETS:
        request += [f"{CERTIFICATES.kind} {key}" for key in shared.certificates_of(place)]
    for item in request:
        yield from informer.keys_by_index(_CERTIFICATE_INDEX, item)


def _sources(document: Document) -> Iterator[str]:
    """The Certificates and Secrets whose CA an object asks for, as index keys."""
    certificate, secret = source(document)
    if certificate is not None:
        yield f"{CERTIFICATES.kind} {certificate}"
    if secret is not None:
        yield f"{SECRETS.kind} {secret}"


def _secret_of(shared: Certificates, certificate: Key) -> Key | None:
    result = shared.certificates.raw(certificate)
    if result is None:
        return None
    return Key(certificate.namespace, str(result["spec"].get("secretName", "")))


async def _inject(
    shared: Certificates, resource: Resource, informer: Informer[Document], key: Key
) -> Result:
    document = informer.raw(key)
    if document is None or shared.is_idle:
        return DONE
    bundle = _ca_bundle(shared, document)
    if not bundle:
        return DONE
    whole = {"kind": resource.kind, **document}
    merge_patch = with_bundle(whole, b64encode(bundle).decode())
    if merge_patch == whole:
        return DONE
    field = "webhooks" if resource.kind in WEBHOOKS else "spec"
    version = document["metadata"]["resourceVersion"]
    # A merge patch replaces the list: a concurrent change of it must not be reverted.
    patch = {"metadata": {"resourceVersion": version}, field: merge_patch[field]}
    await shared.runtime.client.patch(resource, key, patch)
    return DONE


def _ca_bundle(shared: Certificates, document: Document) -> bytes:
    """Return the CA bundle, b"" if it is not known yet."""
    certificate, direct = source(document)
    place = _secret_of(shared, certificate) if certificate is not None else direct
    secret = None if place is None else shared.secrets.raw(place)
    if secret is None:
        return b""
    annotations = secret["metadata"].get("annotations") or {}
    if certificate is None and annotations.get(ALLOWED) != "true":
        return b""
    return value(secret, "ca.crt") + value(secret, "previous.crt")
