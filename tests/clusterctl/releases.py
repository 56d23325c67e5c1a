"""Small providers as a folder repository, and a management cluster in process to install them in.

releases = Releases(tmp_path)
async with management_cluster() as client:
    await install.init(client, releases.config(), ...)
"""

from __future__ import annotations

import json
from asyncio import TaskGroup
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from kapy._aio.clock import loop_clock
from kapy.apiserver.server import Server
from kapy.apiserver.webhooks.client_config import Services
from kapy.client.client import Client
from kapy.clusterctl.config import Config, load
from kapy.clusterctl.provider import ProviderType, manifest_label
from kapy.kube import Document
from kapy.kube.http import ADMIN
from kapy.kube.names import Resource
from kapy.testing.frozen import Frozen

CORE: Final = ("cluster-api", ProviderType.CORE)
ACME: Final = ("acme", ProviderType.INFRASTRUCTURE)
_GROUPS: Final = {
    ProviderType.CORE: "cluster.x-k8s.io",
    ProviderType.BOOTSTRAP: "bootstrap.cluster.x-k8s.io",
    ProviderType.CONTROL_PLANE: "controlplane.cluster.x-k8s.io",
    ProviderType.INFRASTRUCTURE: "infrastructure.cluster.x-k8s.io",
}
_NO_FILES: Final[Mapping[str, str]] = MappingProxyType({})
CLUSTERS: Final = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")
ACME_THINGS: Final = Resource(
    "infrastructure.cluster.x-k8s.io", "v1beta2", "acmethings", "AcmeThing"
)


@dataclass
class Releases:
    """A folder of releases; the usual providers, and `acme`, as v1.0.0 of contract v1beta2."""

    folder: Path
    added: dict[tuple[str, ProviderType], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, of_type in (
            CORE,
            ("kubeadm", ProviderType.BOOTSTRAP),
            ("kubeadm", ProviderType.CONTROL_PLANE),
            ACME,
        ):
            self.add(name, of_type, "v1.0.0")

    def add(
        self,
        name: str,
        of_type: ProviderType,
        version: str,
        *,
        series: Mapping[str, str] = {"1.0": "v1beta2"},
        objects: Iterable[Document] | None = None,
        files: Mapping[str, str] = _NO_FILES,
    ) -> None:
        """Release a version. series: contract by minor version. objects: its components. files:
        what else is in it."""
        place = self.folder / manifest_label(name, of_type) / version
        place.mkdir(parents=True)
        entries = components(name, of_type, version) if objects is None else objects
        text = "\n---\n".join(json.dumps(document) for document in entries)
        (place / of_type.components_file).write_text(text)
        listed = [
            {"major": int(key.split(".")[0]), "minor": int(key.split(".")[1]), "contract": contract}
            for key, contract in series.items()
        ]
        metadata = {
            "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
            "kind": "Metadata",
            "releaseSeries": listed,
        }
        (place / "metadata.yaml").write_text(json.dumps(metadata))
        for file, content in files.items():
            (place / file).write_text(content)
        self.added.setdefault((name, of_type), version)

    def config(self, **variables: str) -> Config:
        """A configuration that knows these providers, and no others."""
        listed = [
            {
                "name": name,
                "type": of_type.value,
                "url": str(
                    self.folder / manifest_label(name, of_type) / "latest" / of_type.components_file
                ),
            }
            for (name, of_type) in self.added
        ]
        path = self.folder / "clusterctl.yaml"
        path.write_text(json.dumps({"providers": listed}))
        return load(str(path), {"HOME": str(self.folder), **variables})


def components(name: str, of_type: ProviderType, version: str) -> list[Document]:
    """A provider with one of each: CRD, Deployment, webhook, certificate, role …"""
    label = manifest_label(name, of_type)
    namespace = f"{label}-system"
    kind = "Cluster" if of_type is ProviderType.CORE else f"{name.capitalize()}Thing"
    here = {"namespace": namespace}
    inject = {"cert-manager.io/inject-ca-from": f"{namespace}/{label}-serving"}
    service = {"service": {"name": f"{label}-webhook", **here, "path": "/x"}}
    pod = {"containers": [{"name": "manager", "image": f"registry.example/{name}:{version}"}]}
    labels = {"app": label}
    return [
        _object("v1", "Namespace", namespace),
        crd(_GROUPS[of_type], kind, annotations=inject, client=service),
        _object("v1", "ServiceAccount", f"{label}-manager", **here),
        _object("rbac.authorization.k8s.io/v1", "ClusterRole", f"{label}-role", rules=[]),
        _object("v1", "Service", f"{label}-webhook", **here, spec={"ports": [{"port": 443}]}),
        _object(
            "apps/v1",
            "Deployment",
            f"{label}-manager",
            **here,
            spec={
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        ),
        _object(
            "cert-manager.io/v1", "Issuer", f"{label}-selfsigned", **here, spec={"selfSigned": {}}
        ),
        certificate(label, namespace),
        {
            **_object(
                "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", f"{label}-val"
            ),
            "metadata": {"name": f"{label}-val", "annotations": inject},
            "webhooks": [
                {
                    "name": f"validation.{name}.example",
                    "clientConfig": service,
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    "failurePolicy": "Ignore",
                }
            ],
        },
    ]


def certificate(label: str, namespace: str, **spec: Any) -> Document:
    """A Certificate as kubebuilder scaffolds it."""
    wanted = {
        "dnsNames": [f"{label}-webhook.{namespace}.svc"],
        "secretName": f"{label}-webhook-cert",
        "issuerRef": {"kind": "Issuer", "name": f"{label}-selfsigned"},
        **spec,
    }
    return _object(
        "cert-manager.io/v1", "Certificate", f"{label}-serving", namespace=namespace, spec=wanted
    )


def crd(
    group: str,
    kind: str,
    *,
    versions: Sequence[str] = ("v1beta2",),
    annotations: Mapping[str, str] = {},
    client: Document | None = None,
) -> Document:
    """A CRD; the last of its versions is stored. client: converts by webhook."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec: Document = {
        "group": group,
        "scope": "Namespaced",
        "names": {"kind": kind, "plural": f"{kind.lower()}s"},
        "versions": [
            {
                "name": version,
                "served": True,
                "storage": version == versions[-1],
                "schema": {"openAPIV3Schema": anything},
            }
            for version in versions
        ],
    }
    if client is not None:
        webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
        spec["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    document = _object(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{kind.lower()}s.{group}"
    )
    metadata = {**document["metadata"], "annotations": dict(annotations)}
    return {**document, "metadata": metadata, "spec": spec}


@asynccontextmanager
async def management_cluster(
    *, controllers: bool = False, services: Services | None = None
) -> AsyncIterator[Client]:
    """An empty Kubernetes cluster without nodes.

    controllers: namespaces that are deleted end. services: where its webhooks are.
    """
    server = Server.open(None, clock=loop_clock(), services=services)
    client = Client(Frozen(server.transport(ADMIN)), field_manager="kapy")
    try:
        if not controllers:
            yield client
            return
        async with TaskGroup() as group:
            running = group.create_task(server.run())
            yield client
            running.cancel()
    finally:
        server.close()


def _object(api_version: str, kind: str, name: str, namespace: str = "", **more: Any) -> Document:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}
