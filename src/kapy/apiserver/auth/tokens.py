"""Service account tokens: JSON Web Tokens signed with the server's own key (ES256).

A token is valid for its audiences, until it expires, and while the account (and the object that it
is bound to) exists with the same uid. The key of a server with a data directory is the file
`service-account.key` in it (0600); an in-memory server loses its key at the end.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from kapy._aio.clock import Clock
from kapy.apiserver.auth.authentication import (
    API_AUDIENCES,
    CREDENTIAL,
    ISSUER,
    Identity,
    InvalidToken,
    authenticated_user,
    intersect_audiences,
)
from kapy.apiserver.auth.rbac.rules import quote_list
from kapy.apiserver.store.store import Store
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.foreign_json import decode_json
from kapy.kube.go_literals import go_quoted
from kapy.kube.http import User

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )

KEY_FILE: Final = "service-account.key"
LEEWAY: Final = 60
"""The tolerated clock skew in seconds. An expired token, or that of a deleted object which still
exists, is accepted for this time.
"""
_BOUND: Final = {"secret": "secrets", "pod": "pods", "node": "nodes"}
_INVALIDATED: Final = "service account token has been invalidated"
_WRONG: Final = "invalid signature"
_EXTRA: Final = "authentication.kubernetes.io"
_REPLACE: Final = (
    "have a new one made with `kapy up --replace-keys` (tokens issued before do not count any more)"
)
FOREVER: Final = 1 << 32
"""A lifetime in seconds for tokens that end with their Secret: more than a century."""
_REMEMBERED: Final = 1024
_HALF: Final = 32  # bytes of each of the two integers in a signature

_encode = msgspec.json.Encoder().encode


class ServiceTokenError(InvalidToken):
    """A token of this server is invalid; the message gives the reason and never shows the token."""


class BoundObject(NamedTuple):
    """An object that a token is bound to; the Node of a Pod's token is informational only."""

    kind: str
    name: str
    uid: str


class UnusableKey(KapyError):
    """The key that signs tokens is missing or unusable; the message says how to fix it."""


class ServiceAccountTokens:
    """Issues and verifies the tokens of one server. The key is created at its first use."""

    def __init__(self, store: Store, clock: Clock, directory: Path | None) -> None:
        self._store = store
        self._clock = clock
        self._directory = directory
        self._private: EllipticCurvePrivateKey | None = None
        self._public: EllipticCurvePublicKey | None = None
        self._verified: dict[str, Document] = {}

    def issue(
        self,
        account: Document,
        bound: Sequence[BoundObject],
        audiences: Sequence[str],
        seconds: int,
        identity: str,
        *,
        warn_after: int = 0,
    ) -> str:
        """Issue a token for a service account.

        identity: the uid of the token. warn_after: seconds after which clients should replace the
        token, although it is still valid.
        """
        meta, now = account["metadata"], int(self._clock().timestamp())
        result: Document = {"namespace": meta["namespace"]}
        for bound_object in bound:
            named = (
                {"name": bound_object.name, "uid": bound_object.uid}
                if bound_object.uid
                else {"name": bound_object.name}
            )
            result[bound_object.kind.lower()] = named
        result["serviceaccount"] = {"name": meta["name"], "uid": meta["uid"]}
        if warn_after:
            result["warnafter"] = now + warn_after
        return self._sign(
            {
                "aud": list(audiences),
                "exp": now + seconds,
                "iat": now,
                "iss": ISSUER,
                "jti": identity,
                "kubernetes.io": result,
                # A token without expiry is valid whatever the clock was when it was issued.
                "nbf": 0 if seconds >= FOREVER else now,
                "sub": f"system:serviceaccount:{meta['namespace']}:{meta['name']}",
            }
        )

    def identity(self, token: str, audiences: Sequence[str] = API_AUDIENCES) -> Identity | None:
        """Return the identity of a token, None for another issuer's. Raises ServiceTokenError."""
        claims = self._claims(token)
        if claims is None:
            return None
        accepted = intersect_audiences(claims["aud"], audiences)
        if not accepted:
            raise ServiceTokenError(
                f"token audiences {quote_list(claims['aud'])} is invalid for the target audiences "
                f"{quote_list(audiences)}"
            )
        now = self._clock().timestamp()
        if now + LEEWAY < claims["nbf"]:
            raise ServiceTokenError("service account token is not valid yet")
        if now - LEEWAY > claims["exp"]:
            raise ServiceTokenError("service account token has expired")
        result = claims["kubernetes.io"]
        self._check_objects(result)
        return Identity(_user(claims, result), accepted)

    def _check_objects(self, value: Document) -> None:
        """Check that the account and the bound object exist. Raises ServiceTokenError."""
        space, account = value["namespace"], value["serviceaccount"]
        self._check("serviceaccounts", "service account", space, account)
        for kind, plural in _BOUND.items():
            named = value.get(kind)
            if named is not None and not (kind == "node" and "pod" in value):
                self._check(plural, kind, "" if kind == "node" else space, named)

    def _check(self, plural: str, kind: str, namespace: str, value: Document) -> None:
        table = self._store.peek(plural)
        result = None if table is None else table.get(namespace, value["name"])
        is_account = kind == "service account"
        if result is None:
            missing = f"serviceaccounts {go_quoted(value['name'])} not found"
            raise ServiceTokenError(missing if is_account else _INVALIDATED)
        meta = result["metadata"]
        if meta["uid"] != value["uid"]:
            claim = "claim" if is_account else f"service account {kind} ref claim"
            raise ServiceTokenError(
                f"{kind} UID ({meta['uid']}) does not match {claim} ({value['uid']})"
            )
        ends = meta.get("deletionTimestamp")
        now = self._clock().timestamp()
        if ends and datetime.fromisoformat(ends).timestamp() < now - LEEWAY:
            removal = f"service account {namespace}/{value['name']} has been deleted"
            raise ServiceTokenError(removal if is_account else _INVALIDATED)

    def keys(self) -> Document:
        """Return the public keys, as a document for `/openid/v1/jwks`."""
        numbers = self._public_key().public_numbers()
        key = {
            "use": "sig",
            "kty": "EC",
            "kid": self._identity(),
            "crv": "P-256",
            "alg": "ES256",
            "x": _base64(numbers.x.to_bytes(_HALF, "big")),
            "y": _base64(numbers.y.to_bytes(_HALF, "big")),
        }
        return {"keys": [key]}

    def configuration(self, base: str) -> Document:
        """Return the document at `/.well-known/openid-configuration`. base: the URL of this
        server.
        """
        return {
            "issuer": ISSUER,
            "jwks_uri": f"{base}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }

    # signatures

    def _claims(self, token: str) -> Document | None:
        """Return the claims of a token, None for another issuer's; its signature is verified once.

        Raises ServiceTokenError.
        """
        cached = self._verified.get(token)
        if cached is not None:
            return cached
        try:
            head, content, signature = token.split(".")
            claims: Document = decode_json(_decode_base64(content))
            header, signed = decode_json(_decode_base64(head)), _decode_base64(signature)
            if claims["iss"] != ISSUER:
                return None
            own = header["alg"] == "ES256" and header["kid"] == self._identity()
        except (ValueError, KeyError, TypeError):
            return None
        if not own:
            raise ServiceTokenError("invalid signature, no keys found")
        self._verify(f"{head}.{content}".encode(), signed)
        if len(self._verified) >= _REMEMBERED:
            self._verified.clear()
        self._verified[token] = claims
        return claims

    def _verify(self, message: bytes, signature: bytes) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

        if len(signature) != 2 * _HALF:
            raise ServiceTokenError(_WRONG)
        first, second = signature[:_HALF], signature[_HALF:]
        pair = int.from_bytes(first, "big"), int.from_bytes(second, "big")
        try:
            self._public_key().verify(encode_dss_signature(*pair), message, _algorithm())
        except InvalidSignature:
            raise ServiceTokenError(_WRONG) from None

    def _sign(self, claims: Document) -> str:
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        header = {"alg": "ES256", "kid": self._identity()}
        message = f"{_base64(_encode(header))}.{_base64(_encode(claims))}"
        pair = decode_dss_signature(self._key().sign(message.encode(), _algorithm()))
        signature = b"".join(number.to_bytes(_HALF, "big") for number in pair)
        return f"{message}.{_base64(signature)}"

    def _identity(self) -> str:
        return _base64(hashlib.sha256(self.public_key()).digest())

    def public_key(self) -> bytes:
        """Return the public key in DER. Raises UnusableKey."""
        from cryptography.hazmat.primitives import serialization as form

        return self._public_key().public_bytes(
            form.Encoding.DER, form.PublicFormat.SubjectPublicKeyInfo
        )

    def verify_with(self, key: bytes) -> None:
        """Verify tokens with a public key in DER. No tokens can then be issued here."""
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import load_der_public_key

        public = load_der_public_key(key)
        assert isinstance(public, ec.EllipticCurvePublicKey)
        self._public = public

    def _public_key(self) -> EllipticCurvePublicKey:
        if self._public is None:
            self._public = self._key().public_key()
        return self._public

    def check_key(self, *, replace: bool = False) -> None:
        """Check that the key of earlier tokens exists and can be used. Raises UnusableKey.

        replace: rename the key file, so that a new key is created.
        """
        if self._directory is None:
            return
        path = self._directory / KEY_FILE
        if replace:
            if path.exists():
                path.replace(path.with_name(f"{KEY_FILE}.replaced"))
            self._store.put_meta(KEY_FILE, "")
        elif path.exists() or self._store.get_meta(KEY_FILE):
            self._key()

    def _key(self) -> EllipticCurvePrivateKey:
        """Return the private key. Raises UnusableKey."""
        if self._private is None:
            from cryptography.hazmat.primitives.asymmetric import ec
            from cryptography.hazmat.primitives.serialization import load_pem_private_key

            try:
                key = load_pem_private_key(self._pem(), password=None)
            except OSError as error:
                raise UnusableKey(
                    f"{self._directory}/{KEY_FILE} cannot be read or made: {error.strerror}"
                ) from None
            except (ValueError, TypeError):
                raise UnusableKey(
                    f"{self._directory}/{KEY_FILE} is no private key: restore it, or {_REPLACE}"
                ) from None
            if not isinstance(key, ec.EllipticCurvePrivateKey) or key.key_size != 8 * _HALF:
                raise UnusableKey(
                    f"{self._directory}/{KEY_FILE} is no P-256 key: restore it, or {_REPLACE}"
                )
            self._private = key
            if self._directory is not None and not self._store.get_meta(KEY_FILE):
                self._store.put_meta(KEY_FILE, self._identity())
        return self._private

    def _pem(self) -> bytes:
        from kapy.kube.pki import new_key

        if self._directory is None:
            return new_key("ECDSA-P256")
        path = self._directory / KEY_FILE
        if not path.exists():
            if self._store.get_meta(KEY_FILE):
                raise UnusableKey(
                    f"{path} is missing, which signed the tokens of service accounts: put it back, "
                    f"or {_REPLACE}"
                )
            beside = path.with_suffix(".new")
            beside.unlink(missing_ok=True)
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(new_key("ECDSA-P256"))
                file.flush()
                os.fsync(file.fileno())
            beside.rename(path)
        return path.read_bytes()


def _user(claims: Document, said: Document) -> User:
    account, space = said["serviceaccount"], said["namespace"]
    extra = {CREDENTIAL: (f"JTI={claims['jti']}",)}
    for kind in ("pod", "node"):
        for field, value in (said.get(kind) or {}).items():
            extra[f"{_EXTRA}/{kind}-{field}"] = (value,)
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{space}")
    user = authenticated_user(claims["sub"], groups, account["uid"])
    return User(user.name, user.groups, user.uid, extra)


def _algorithm() -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256

    return ec.ECDSA(SHA256())


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _decode_base64(text: str) -> bytes:
    """Decode base64 without padding. Raises ValueError."""
    if "=" in text:
        raise ValueError
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
