"""Injects the CA of the webhooks' certificate into webhook configurations and CRDs.

Only configurations that refer to our Service are changed. Those that cert-manager manages are left
to it, unless the CA is our own: then nobody issues the Certificate that the annotation names, which
may be of a former release. The annotation is removed, so that nobody writes another CA.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Container, Iterable, Iterator
from functools import partial
from typing import Any, Final, Protocol

from kapy.api.names import Label
from kapy.engine.cache import Informer
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.names import CRDS, Resource
from kapy.kube.nested import value_at

_GROUP: Final = "admissionregistration.k8s.io"
MUTATING: Final = Resource(
    _GROUP, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", namespaced=False
)
VALIDATING: Final = Resource(
    _GROUP,
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
CERT_MANAGER_ANNOTATIONS: Final = (
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
)
"""Annotations by which cert-manager writes the authority."""
_PLACEHOLDERS: Final = (None, "", "Cg==")
"""The value of released CRDs that means "no bundle"."""


class CASource(Protocol):
    """The CA of the served certificate."""

    @property
    def ca(self) -> bytes:
        """The CA as PEM, b"" if there is none yet."""
        ...

    @property
    def is_own_ca(self) -> bool:
        """Whether this program or a replica made the CA, not cert-manager or a user."""
        ...


class CAInjector:
    """Injects the CA bundle into webhook configurations and CRD conversions that refer to our
    Service."""

    def __init__(self, runtime: Runtime, service: Key, provider: str, source: CASource) -> None:
        self._client = runtime.client
        self._service = service
        self._source = source
        self._controllers: list[tuple[Controller, Informer[Document]]] = []
        labels = f"{Label.PROVIDER}={provider}"
        for resource in (MUTATING, VALIDATING, CRDS):
            informer = runtime.cache.informer(resource, labels=labels)
            name = f"webhook-authority-{resource.plural}"
            controller = Controller(
                name, partial(self._reconcile, resource, informer), concurrency=1
            )
            controller.watch(informer)
            runtime.add(controller)
            self._controllers.append((controller, informer))

    def on_ca_change(self) -> None:
        """Reconcile all configurations, because the CA has changed."""
        for controller, informer in self._controllers:
            for key in tuple(informer.keys()):
                controller.enqueue(key)

    async def _reconcile(
        self, resource: Resource, informer: Informer[Document], key: Key
    ) -> Result:
        result, authority = informer.raw(key), self._source.ca
        if result is None or not authority:
            return DONE
        bundle = b64encode(authority).decode()
        if not (annotated := _cert_manager_annotations(result)):
            patch = injection_patch(result, self._service, bundle)
        elif self._source.is_own_ca:
            patch = takeover_patch(result, self._service, bundle, annotated)
        else:  # cert-manager has the last word, if it is still there
            patch = injection_patch(result, self._service, bundle, replaced=_PLACEHOLDERS)
        if patch is not None:
            version = result["metadata"]["resourceVersion"]
            metadata = {**patch.get("metadata", {}), "resourceVersion": version}
            await self._client.patch(resource, key, {**patch, "metadata": metadata})
        return DONE


def takeover_patch(
    document: Document, service: Key, bundle: str, annotated: Iterable[str]
) -> Document | None:
    """Return a merge patch that sets the CA bundle and removes cert-manager's annotations; None if
    no client of the Service is there.
    """
    if not any(_refers_to_service(client, service) for client in _clients(document)):
        return None
    annotations: Document = {"metadata": {"annotations": dict.fromkeys(annotated)}}
    return {**annotations, **(injection_patch(document, service, bundle) or {})}


def injection_patch(
    document: Document, service: Key, bundle: str, replaced: Container[Any] | None = None
) -> Document | None:
    """Return a merge patch that sets the CA bundle (base64) of all clients of a Service; None if
    nothing changes. replaced: the only bundles that may be replaced, None for all.
    """

    def is_wrong(config: Document) -> bool:
        now = config.get("caBundle")
        may_change = replaced is None or now in replaced
        return _refers_to_service(config, service) and now != bundle and may_change

    if not any(is_wrong(client) for client in _clients(document)):
        return None
    if document["kind"] == CRDS.kind:
        return {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}}
    webhooks = [
        {**webhook, "clientConfig": {**config, "caBundle": bundle}} if is_wrong(config) else webhook
        for webhook in document["webhooks"]
        for config in [webhook.get("clientConfig") or {}]
    ]
    return {"webhooks": webhooks}


def _clients(document: Document) -> Iterator[Document]:
    """The configurations of clients in a CRD or a webhook configuration."""
    if document["kind"] == CRDS.kind:
        yield value_at(document, ("spec", "conversion", "webhook", "clientConfig")) or {}
        return
    for webhook in document.get("webhooks") or ():
        yield webhook.get("clientConfig") or {}


def _refers_to_service(config: Document, service: Key) -> bool:
    named = config.get("service") or {}
    return (named.get("namespace"), named.get("name")) == (service.namespace, service.name)


def _cert_manager_annotations(document: Document) -> list[str]:
    annotations = document["metadata"].get("annotations") or {}
    return [annotation for annotation in CERT_MANAGER_ANNOTATIONS if annotation in annotations]
