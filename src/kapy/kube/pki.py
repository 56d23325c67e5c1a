"""Certificates and keys. `cryptography` is imported when it is first needed.

Creating an RSA key takes 30 ms of CPU or more, so call these functions in a thread
(`loop.run_in_executor`). All inputs and outputs are PEM, in the forms that kubeadm and kubectl use.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

from kapy.kube.errors import KapyError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder

    PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey

Algorithm = Literal["RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256", "ECDSA-P384"]

LEAF_VALIDITY: Final = timedelta(days=365)
"""The validity of server and client certificates, like kubeadm's."""

EARLIEST: Final = datetime(2025, 1, 1, tzinfo=UTC)
"""A time before this program existed. A certificate with this start is valid even if a clock was
wrong when it was created.
"""

BACKDATING: Final = timedelta(minutes=5)
"""How far certificates are backdated, so that machines with a slightly late clock accept them."""
_SERIAL_BITS: Final = 63
_MAX_KEYS: Final = 100
_PEM_BLOCK: Final = re.compile(rb"-----BEGIN [A-Z0-9 ]+-----[^-]*-----END [A-Z0-9 ]+-----")
"""The most public keys to read from one text; key rotation needs no more, and each takes time."""
# The start of a TBSCertificate's content: version 3, then the serial number.
_SERIAL_ONE: Final = bytes.fromhex("a003020102020101")
_SERIAL_ZERO: Final = bytes.fromhex("a003020102020100")
_HEADER: Final = rb"\x30(?:[\x00-\x7f]|\x81.|\x82..|\x83...)"
_SERIAL: Final = re.compile(_HEADER + _HEADER + rb"(?:\xa0\x03\x02\x01.)?\x02(..)", re.DOTALL)
"""The beginning of a certificate, up to the length and the first byte of its serial number."""


class InvalidPem(KapyError):
    """A certificate or a key cannot be parsed. The message never quotes it."""


class OutsideValidity(KapyError):
    """A certificate authority is not valid during any part of the requested validity."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate (or public key) and its private key, both PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Facts:
    """The properties of a certificate."""

    common_name: str
    organizations: tuple[str, ...]
    names: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    serial: int


def new_key(algorithm: Algorithm = "RSA-2048") -> bytes:
    """Create a private key, PEM in PKCS#1 (RSA) or SEC 1 (EC) form as kubeadm writes it."""
    return _key_pem(_generate(algorithm))


def public_key(key: bytes) -> bytes:
    """Return the public half of a private key, PEM in PKIX form (kubeadm's `sa.pub`)."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = _load_key(key).public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def new_ca(
    common_name: str,
    *,
    now: datetime,
    valid: timedelta = timedelta(days=3650),
    algorithm: Algorithm = "RSA-2048",
    key: bytes | None = None,
    since: datetime | None = None,
) -> KeyPair:
    """Create a self-signed CA with keyUsage, SKI and AKI. since: notBefore, by default `now`."""
    from cryptography import x509

    private = _generate(algorithm) if key is None else _load_key(key)
    subject = _name(common_name, ())
    ski = x509.SubjectKeyIdentifier.from_public_key(private.public_key())
    builder = (
        x509.CertificateBuilder()
        .serial_number(1)
        .subject_name(subject)
        .issuer_name(subject)
        .not_valid_before(now - BACKDATING if since is None else since)
        .not_valid_after(now + valid)
        .public_key(private.public_key())
        .add_extension(_key_usage(ca=True), critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(ski, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(ski), critical=False
        )
    )
    return KeyPair(_sign_with_serial_zero(builder, private), key or _key_pem(private))


def issue(
    ca: KeyPair,
    common_name: str,
    *,
    now: datetime,
    organizations: Sequence[str] = (),
    names: Sequence[str] = (),
    usages: Sequence[Literal["client", "server"]] = ("client",),
    valid: timedelta = LEAF_VALIDITY,
    algorithm: Algorithm = "RSA-2048",
    key: bytes | None = None,
) -> KeyPair:
    """Issue a leaf certificate of `ca`.

    names: DNS names or IP addresses. key: a key to reuse. The certificate is valid from the CA's
    notBefore on, at most until the CA's notAfter. Raises InvalidPem, OutsideValidity.
    """
    import secrets

    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    authority = load(ca.certificate)
    authority_key = _load_key(ca.key)
    start, end = authority.not_valid_before_utc, authority.not_valid_after_utc
    if now + valid <= start:
        raise OutsideValidity(
            f"the certificate authority of {common_name} is good from {start:%F %T} to {end:%F %T} "
            f"UTC, and the clock says {now:%F %T}: set the clock, or replace the authority"
        )
    private = _generate(algorithm) if key is None else _load_key(key)
    builder = (
        x509.CertificateBuilder()
        .serial_number(secrets.randbits(_SERIAL_BITS) + 1)
        .subject_name(_name(common_name, organizations))
        .issuer_name(authority.subject)
        .not_valid_before(start)
        .not_valid_after(min(now + valid, end))
        .public_key(private.public_key())
        .add_extension(_key_usage(ca=False), critical=True)
        .add_extension(_extended_usages(usages), critical=False)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(private.public_key()), critical=False
        )
        .add_extension(_authority_key_identifier(authority), critical=False)
    )
    if names:
        builder = builder.add_extension(_alternative_names(names), critical=False)
    signed = builder.sign(authority_key, _key_digest(authority_key))
    return KeyPair(signed.public_bytes(Encoding.PEM), key or _key_pem(private))


def backdate_ca(ca: KeyPair, since: datetime) -> KeyPair:
    """Return the CA with the same key and end, but valid from `since` on. Raises InvalidPem.

    Clients that trust the CA trust this one, and certificates that it signed stay valid.
    """
    result = facts(ca.certificate)
    return new_ca(
        result.common_name, now=result.not_after, valid=timedelta(), key=ca.key, since=since
    )


def load(certificate: bytes) -> Certificate:
    """Return the first certificate of a PEM text as an object of `cryptography`. A serial number of
    0 reads as 1. Raises InvalidPem.
    """
    from cryptography import x509

    with _decoding(_CERTIFICATE):
        return x509.load_der_x509_certificate(_with_loadable_serial(_der(certificate)))


@contextmanager
def _decoding(subject: str) -> Iterator[None]:
    """Convert all exceptions of `cryptography` about untrusted bytes to InvalidPem.

    Parts of a certificate are decoded only when they are read.
    """
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        yield
    except InvalidPem:
        raise
    except (
        *(ValueError, TypeError, UnsupportedAlgorithm),
        *(x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType),
    ) as error:
        raise InvalidPem(f"unable to decode the {subject}") from error


_CERTIFICATE: Final = "certificate"


def facts(certificate: bytes) -> Facts:
    """Read the properties of a certificate. Raises InvalidPem."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    result = load(certificate)
    with _decoding(_CERTIFICATE):
        names: tuple[str, ...] = ()
        with suppress(x509.ExtensionNotFound):
            alternative = result.extensions.get_extension_for_class(x509.SubjectAlternativeName)
            names = tuple(str(name.value) for name in alternative.value)
        common_names = result.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        organizations = result.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        return Facts(
            common_name=str(common_names[0].value) if common_names else "",
            organizations=tuple(str(organization.value) for organization in organizations),
            names=names,
            not_before=result.not_valid_before_utc,
            not_after=result.not_valid_after_utc,
            serial=0 if _has_serial_zero(_der(certificate)) else result.serial_number,
        )


def public_key_hashes(certificates: bytes) -> list[str]:
    """Return `sha256:<hex>` of each certificate's public key, by which `kubeadm join` pins CAs.
    Raises InvalidPem, also if there is no certificate.
    """
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    end = b"-----END CERTIFICATE-----"
    *result, _ = certificates.split(end)
    with _decoding(_CERTIFICATE):
        keys = [load(item + end).public_key() for item in result or [b""]]
        ders = [key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) for key in keys]
    return ["sha256:" + hashlib.sha256(der).hexdigest() for der in ders]


def is_matching_pair(pair: KeyPair) -> bool:
    """Return whether the key is the private half of the certificate. Raises InvalidPem."""
    with _decoding(_CERTIFICATE):
        public = load(pair.certificate).public_key()
    return public == _load_key(pair.key).public_key()


def is_authority(certificate: bytes) -> bool:
    """Return whether a certificate may sign others. Raises InvalidPem."""
    from cryptography import x509

    with _decoding(_CERTIFICATE), suppress(x509.ExtensionNotFound):
        extension = load(certificate).extensions.get_extension_for_class(x509.BasicConstraints)
        return bool(extension.value.ca)
    return False


def holds_public_key(public: bytes, key: bytes) -> bool:
    """Return whether one of the public keys (or certificates) in a PEM text belongs to a private
    key.

    Raises InvalidPem, also if the text has no readable one.
    """
    public_keys = _public_keys(public)
    if not public_keys:
        raise InvalidPem("unable to decode the public key")
    return _load_key(key).public_key() in public_keys


def has_public_keys(public: bytes) -> bool:
    """Return whether a PEM text has a public key (or certificate) that can be read."""
    return bool(_public_keys(public))


def _public_keys(text: bytes) -> list[object]:
    result = map(_public_key, _pem_blocks(text))
    return [item for item in result if item is not None]


def _pem_blocks(text: bytes) -> list[bytes]:
    return [match.group() for match in islice(_PEM_BLOCK.finditer(text), _MAX_KEYS)]


def _public_key(pem: bytes) -> object:
    """Return the public key of a PEM block, None if there is no readable one."""
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    with suppress(InvalidPem), _decoding("public key"):
        if pem.startswith(b"-----BEGIN CERTIFICATE-----"):
            return load(pem).public_key()
        return load_pem_public_key(pem)
    return None


def _generate(algorithm: Algorithm) -> PrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    match algorithm:
        case "ECDSA-P256":
            return ec.generate_private_key(ec.SECP256R1())
        case "ECDSA-P384":
            return ec.generate_private_key(ec.SECP384R1())
        case "RSA-2048" | "RSA-3072" | "RSA-4096":
            return rsa.generate_private_key(65537, int(algorithm.removeprefix("RSA-")))


def _key_pem(key: PrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization as form

    return key.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.TraditionalOpenSSL, form.NoEncryption()
    )


def _load_key(key: bytes) -> PrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    with _decoding("private key"):
        # Validating an RSA key takes as long as generating one; an invalid key fails when it is
        # used.
        result = load_pem_private_key(key, password=None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(result, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise InvalidPem("the private key is neither RSA nor EC")
    return result


def _name(common_name: str, organizations: Sequence[str]) -> Any:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parts = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)
        for organization in organizations
    ]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _key_usage(*, ca: bool) -> Any:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=True,
        key_cert_sign=ca,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _extended_usages(usages: Sequence[Literal["client", "server"]]) -> Any:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID as Oid

    oids = {"client": Oid.CLIENT_AUTH, "server": Oid.SERVER_AUTH}
    return x509.ExtendedKeyUsage([oids[usage] for usage in usages])


def _alternative_names(names: Sequence[str]) -> Any:
    from cryptography import x509

    result: list[x509.GeneralName] = []
    for name in names:
        try:
            result.append(x509.IPAddress(ip_address(name)))
        except ValueError:
            result.append(x509.DNSName(name))
    return x509.SubjectAlternativeName(result)


def _authority_key_identifier(authority: Certificate) -> Any:
    from cryptography import x509

    try:
        ski = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(
            authority.public_key()  # type: ignore[arg-type]
        )
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(ski)


def _key_digest(key: PrivateKey) -> Any:
    from cryptography.hazmat.primitives import hashes

    return hashes.SHA384() if key.key_size == 384 else hashes.SHA256()


def _sign_with_serial_zero(builder: CertificateBuilder, key: PrivateKey) -> bytes:
    """Return a certificate, built with serial number 1, signed again with serial number 0."""
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

    digest = _key_digest(key)
    draft = builder.sign(key, digest)
    tbs = draft.tbs_certificate_bytes.replace(_SERIAL_ONE, _SERIAL_ZERO, 1)
    if isinstance(key, rsa.RSAPrivateKey):
        signature = key.sign(tbs, padding.PKCS1v15(), digest)
    else:
        signature = key.sign(tbs, ec.ECDSA(digest))
    return _certificate_pem(tbs + _signature_algorithm(draft) + _tlv(0x03, b"\0" + signature))


def _signature_algorithm(certificate: Certificate) -> bytes:
    """Return the AlgorithmIdentifier in the certificate, after its TBS part."""
    from cryptography.hazmat.primitives.serialization import Encoding

    whole = certificate.public_bytes(Encoding.DER)
    tbs = certificate.tbs_certificate_bytes
    start = whole.index(tbs) + len(tbs)
    return whole[start : start + 2 + whole[start + 1]]


def _tlv(tag: int, content: bytes) -> bytes:
    """Encode one DER value."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def _certificate_pem(content: bytes) -> bytes:
    from ssl import DER_cert_to_PEM_cert

    return DER_cert_to_PEM_cert(_tlv(0x30, content)).encode()


def _der(certificate: bytes) -> bytes:
    from base64 import b64decode

    _, begin, rest = certificate.partition(b"-----BEGIN CERTIFICATE-----")
    body, end, _ = rest.partition(b"-----END CERTIFICATE-----")
    if not (begin and end):
        raise InvalidPem("unable to decode PEM data")
    return b64decode(body)


def _has_serial_zero(der: bytes) -> bool:
    match = _SERIAL.match(der)
    return match is not None and match[1] == b"\x01\x00"


def _with_loadable_serial(der: bytes) -> bytes:
    """Replace the serial number 0 by 1. Raises InvalidPem if it is negative, as Go does."""
    match = _SERIAL.match(der)
    if match is None:
        return der
    length, first = match[1]
    if first >= 0x80:
        raise InvalidPem("unable to decode the certificate: its serial number is negative")
    if (length, first) != (1, 0):
        return der
    return der[: match.end() - 1] + b"\x01" + der[match.end() :]
