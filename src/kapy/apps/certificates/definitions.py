"""The CRDs of cert-manager's kinds, with the parts that a plane needs."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from kapy import __version__
from kapy.client.client import Client
from kapy.clusterctl.certificates import CERTIFICATES, CLUSTER_ISSUERS, ISSUERS
from kapy.clusterctl.inventory import BUILT_IN
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists
from kapy.kube.names import CRDS, Resource

_ANY_FIELDS: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_READY_COLUMN: Final = {
    "name": "Ready",
    "type": "string",
    "jsonPath": ".status.conditions[?(@.type=='Ready')].status",
}
_MESSAGE_COLUMN: Final = {
    "name": "Status",
    "type": "string",
    "jsonPath": ".status.conditions[?(@.type=='Ready')].message",
    "priority": 1,
}
_AGE_COLUMN: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_SECRET_COLUMN: Final = {"name": "Secret", "type": "string", "jsonPath": ".spec.secretName"}
_ISSUER_COLUMN: Final = {
    "name": "Issuer", "type": "string", "jsonPath": ".spec.issuerRef.name", "priority": 1,
}  # fmt: skip
_CERTIFICATE: Final[Document] = {
    **_ANY_FIELDS,
    "description": "The desired certificate: its names, its issuer and the Secret that gets it.",
    "required": ["issuerRef", "secretName"],
    "properties": {
        "secretName": {
            "type": "string",
            "description": "secretName is the name of the Secret that gets key and certificate.",
        },
        "issuerRef": {
            **_ANY_FIELDS,
            "description": "issuerRef names the Issuer or ClusterIssuer that signs.",
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "description": "name is the name of the issuer."},
                "kind": {"type": "string", "description": "kind is Issuer or ClusterIssuer."},
                "group": {"type": "string", "description": "group is cert-manager.io."},
            },
        },
        "commonName": {"type": "string", "description": "commonName is the name in the subject."},
        "dnsNames": {
            "type": "array",
            "items": {"type": "string"},
            "description": "dnsNames are the names that the certificate holds for.",
        },
        "ipAddresses": {
            "type": "array",
            "items": {"type": "string"},
            "description": "ipAddresses are the addresses that the certificate holds for.",
        },
        "isCA": {"type": "boolean", "description": "isCA marks an authority."},
        "duration": {
            "type": "string",
            "description": "duration is how long the certificate is valid, 2160h by default.",
        },
        "renewBefore": {
            "type": "string",
            "description": "renewBefore is how long before its end it is renewed.",
        },
        "usages": {
            "type": "array",
            "items": {"type": "string"},
            "description": "usages are what the key is for, such as server auth.",
        },
    },
}
_ISSUER_SPEC: Final[Document] = {
    **_ANY_FIELDS,
    "description": "The way to sign: selfSigned, or ca with the name of a Secret.",
}


async def install_definitions(client: Client) -> None:
    """Create the CRDs that are missing; those of cert-manager itself stay unchanged."""
    there = {Key.of(item).name for item in (await client.list(CRDS, metadata=True)).items}
    for definition in DEFINITIONS:
        if definition["metadata"]["name"] not in there:
            with suppress(AlreadyExists):
                await client.create(CRDS, definition)


def _definition(resource: Resource, spec: Document, columns: list[Document]) -> Document:
    schema = {
        "type": "object",
        "description": f"{resource.kind} of cert-manager, looked after by this plane.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "apiVersion of the object."},
            "kind": {"type": "string", "description": "kind of the object."},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": {**_ANY_FIELDS, "description": "The observed state."},
        },
    }
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {
            "name": resource.group_resource,
            "annotations": {BUILT_IN: __version__},
        },
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "categories": ["cert-manager"],
                **({"shortNames": ["cert", "certs"]} if resource is CERTIFICATES else {}),
            },
            "versions": [
                {
                    "name": resource.version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": columns,
                }
            ],
        },
    }


DEFINITIONS: Final[tuple[Document, ...]] = (
    _definition(
        CERTIFICATES,
        _CERTIFICATE,
        [_READY_COLUMN, _SECRET_COLUMN, _ISSUER_COLUMN, _MESSAGE_COLUMN, _AGE_COLUMN],
    ),
    _definition(ISSUERS, _ISSUER_SPEC, [_READY_COLUMN, _MESSAGE_COLUMN, _AGE_COLUMN]),
    _definition(CLUSTER_ISSUERS, _ISSUER_SPEC, [_READY_COLUMN, _MESSAGE_COLUMN, _AGE_COLUMN]),
)
