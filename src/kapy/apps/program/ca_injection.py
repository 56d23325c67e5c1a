"""Injects the CA of the webhooks' certificate into webhook configurations and CRDs.

Only configurations that refer to our Service are changed, and none that cert-manager manages.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

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


class CAInjector:
    """Injects the CA bundle into webhook configurations and CRD conversions that refer to our
    Service.

    authority: returns the CA as PEM, b"" if there is none yet.
    """

    def __init__(
        self, runtime: Runtime, service: Key, provider: str, authority: Callable[[], bytes]
    ) -> None:
        self._client = runtime.client
        self._service = service
        self._authority = authority
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
        found, authority = informer.raw(key), self._authority()
        if found is None or not authority or _is_cert_managers(found):
            return DONE
        patch = injection_patch(found, self._service, b64encode(authority).decode())
        if patch is not None:
            version = {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}}
            await self._client.patch(resource, key, {**version, **patch})
        return DONE


def injection_patch(document: Document, service: Key, bundle: str) -> Document | None:
    """Return a merge patch that sets the CA bundle (base64) of all clients of a Service; None if
    nothing changes.
    """
    if document["kind"] == CRDS.kind:
        config = value_at(document, ("spec", "conversion", "webhook", "clientConfig")) or {}
        if not _refers_to_service(config, service) or config.get("caBundle") == bundle:
            return None
        return {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}}
    webhooks = list(_webhooks_with_ca(document.get("webhooks") or (), service, bundle))
    return None if webhooks == document.get("webhooks") else {"webhooks": webhooks}


def _webhooks_with_ca(webhooks: Any, service: Key, bundle: str) -> Iterator[Document]:
    for one in webhooks:
        config = one.get("clientConfig") or {}
        if _refers_to_service(config, service):
            yield {**one, "clientConfig": {**config, "caBundle": bundle}}
        else:
            yield one


def _refers_to_service(config: Document, service: Key) -> bool:
    named = config.get("service") or {}
    return (named.get("namespace"), named.get("name")) == (service.namespace, service.name)


def _is_cert_managers(document: Document) -> bool:
    annotations = document["metadata"].get("annotations") or {}
    return any(one in annotations for one in CERT_MANAGER_ANNOTATIONS)
