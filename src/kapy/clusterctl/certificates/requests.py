"""The certificates that a provider's components request with cert-manager objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, cast

from kapy.clusterctl.certificates import GROUP, CertificateError
from kapy.kube import Document, Key, duration
from kapy.kube.names import split_api_version
from kapy.kube.pki import Algorithm

Usage = Literal["client", "server"]
Reference = tuple[str, str, str]
"""Kind, namespace and name of an Issuer or a ClusterIssuer."""

_ISSUERS: Final = ("Issuer", "ClusterIssuer")
_ALGORITHMS: Final[dict[tuple[str, int], Algorithm]] = {
    ("", 0): "ECDSA-P256",
    ("RSA", 0): "RSA-2048",
    ("RSA", 2048): "RSA-2048",
    ("RSA", 3072): "RSA-3072",
    ("RSA", 4096): "RSA-4096",
    ("ECDSA", 0): "ECDSA-P256",
    ("ECDSA", 256): "ECDSA-P256",
    ("ECDSA", 384): "ECDSA-P384",
}
_REMEDY: Final = "install cert-manager and choose it with --certificates=cert-manager"


@dataclass(frozen=True)
class CertificateRequest:
    """A requested certificate.

    name: the name of the Certificate. secret: the name of the Secret with the certificate.
    authority: the name of the Secret with the signing CA (the same for a self-signed certificate).
    seconds: the validity of the certificate, 0 if not set.
    """

    namespace: str
    name: str
    secret: str
    authority: str
    common_name: str
    names: tuple[str, ...] = ()
    organizations: tuple[str, ...] = ()
    usages: tuple[Usage, ...] = ("server",)
    algorithm: Algorithm = "ECDSA-P256"
    seconds: int = 0

    @property
    def is_authority(self) -> bool:
        """Return whether the requested certificate is that of a CA."""
        return self.secret == self.authority

    def document(self) -> Document:
        """Return the request as a document, which is stored beside the certificate for its
        renewal.
        """
        return asdict(self)

    @classmethod
    def of(cls, document: Document) -> CertificateRequest:
        """Return the request that `document` returned."""
        lists = {name: tuple(document[name]) for name in ("names", "organizations", "usages")}
        return cls(**(document | lists))


def of_cert_manager(document: Document) -> bool:
    """Return whether an object is of one of cert-manager's kinds."""
    return split_api_version(document["apiVersion"])[0] == GROUP


def requests_in(objects: Iterable[Document]) -> list[CertificateRequest]:
    """Return the certificates that these objects request, CAs first. Raises CertificateError."""
    originals = [obj for obj in objects if of_cert_manager(obj)]
    issuers = {
        reference(original): original for original in originals if original["kind"] in _ISSUERS
    }
    requests = [
        request_of(original, issuers) for original in originals if original["kind"] == "Certificate"
    ]
    return sorted(requests, key=lambda request: not request.is_authority)


def reference(issuer: Document) -> Reference:
    """Return the reference by which Certificates name an Issuer or a ClusterIssuer."""
    key = Key.of(issuer)
    return issuer["kind"], "" if issuer["kind"] == "ClusterIssuer" else key.namespace, key.name


def request_of(certificate: Document, issuers: Mapping[Reference, Document]) -> CertificateRequest:
    """Return the certificate that an object requests. Raises CertificateError."""
    key, spec = Key.of(certificate), certificate["spec"]
    names = (*(spec.get("dnsNames") or ()), *(spec.get("ipAddresses") or ()))
    secret = str(spec["secretName"])
    authority = secret if spec.get("isCA") else _authority(key, spec["issuerRef"], issuers)
    return CertificateRequest(
        namespace=key.namespace,
        name=key.name,
        secret=secret,
        authority=authority,
        common_name=spec.get("commonName") or next(iter(names), key.name),
        names=names,
        organizations=tuple((spec.get("subject") or {}).get("organizations") or ()),
        usages=_usages(spec.get("usages") or ()),
        algorithm=_algorithm(key, spec.get("privateKey") or {}),
        seconds=seconds_of(key, spec, "duration"),
    )


def _authority(key: Key, reference: Document, issuers: Mapping[Reference, Document]) -> str:
    """Return the name of the Secret with the signing CA."""
    kind, name = reference.get("kind", "Issuer"), reference["name"]
    issuer = issuers.get((kind, "" if kind == "ClusterIssuer" else key.namespace, name))
    if issuer is None:
        raise CertificateError(
            f"Certificate {key} is to be issued by {kind} {name}, which is not among the "
            f"provider's components; {_REMEDY}"
        )
    spec = issuer["spec"]
    if "selfSigned" in spec:
        return f"{name}-kapy"
    if "ca" in spec:
        return str(spec["ca"]["secretName"])
    raise CertificateError(
        f"{kind} {name}, which Certificate {key} is to be issued by, is neither selfSigned nor of "
        f"a ca; {_REMEDY}"
    )


def seconds_of(key: Key, spec: Document, field: str) -> int:
    """Return a duration of a Certificate in seconds, 0 if not set. Raises CertificateError."""
    text = spec.get(field)
    if not text:
        return 0
    try:
        return max(int(duration.parse(text).total_seconds()), 0)
    except (ValueError, TypeError) as error:
        raise CertificateError(
            f"Certificate {key}: spec.{field} {text!r} is no duration ({error}); write it as 2160h"
        ) from None


def _usages(usages: Sequence[str]) -> tuple[Usage, ...]:
    both = [item for item in ("client", "server") if f"{item} auth" in usages]
    return tuple(cast("list[Usage]", both)) or ("server",)


def _algorithm(key: Key, private: Document) -> Algorithm:
    request = private.get("algorithm", ""), int(private.get("size") or 0)
    if request not in _ALGORITHMS:
        raise CertificateError(
            f"Certificate {key} asks for a key of {request[0]} {request[1] or ''}".rstrip()
            + f", which kapy does not make; {_REMEDY}"
        )
    return _ALGORITHMS[request]
