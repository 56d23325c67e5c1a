"""Tokens of service accounts: JSON web tokens that a server signs with its own key (ES256).

A token is good for its audiences, until it expires, and as long as the account (and the object
that it is bound to) is there with the same uid. The key of a server with a data directory is the
file `service-account.key` in it (0600); that of one in memory dies with it.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kapy._aio.clock import Clock
from kapy.apiserver.authentication import authenticated
from kapy.apiserver.store.store import Store
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.http import User

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
KEY_FILE: Final = "service-account.key"
_BOUND: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_REMEMBERED: Final = 1024
_HALF: Final = 32  # bytes of each of the two numbers of a signature

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class BadToken(KapyError):
    """The token is not accepted; the message says why and never shows it."""


class ServiceTokens:
    """Issues and checks the tokens of one server. Its key is made when it is first needed."""

    def __init__(self, store: Store, clock: Clock, directory: Path | None) -> None:
        self._store = store
        self._clock = clock
        self._directory = directory
        self._private: EllipticCurvePrivateKey | None = None
        self._verified: dict[str, Document] = {}

    def issue(
        self,
        account: Document,
        bound: tuple[str, str, str] | None,
        audiences: Sequence[str],
        seconds: int,
        identity: str,
    ) -> str:
        """A new token. bound: kind, name and uid of an object; identity: the token's own uid."""
        meta, now = account["metadata"], int(self._clock().timestamp())
        said: Document = {"namespace": meta["namespace"]}
        if bound is not None:
            said[bound[0].lower()] = {"name": bound[1], "uid": bound[2]}
        said["serviceaccount"] = {"name": meta["name"], "uid": meta["uid"]}
        return self._signed(
            {
                "aud": list(audiences) or [ISSUER],
                "exp": now + seconds,
                "iat": now,
                "iss": ISSUER,
                "jti": identity,
                "kubernetes.io": said,
                "nbf": now,
                "sub": f"system:serviceaccount:{meta['namespace']}:{meta['name']}",
            }
        )

    def user(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> User:
        """Whose token it is. Raises BadToken."""
        claims = self._claims(token)
        now = self._clock().timestamp()
        if claims.get("iss") != ISSUER or not set(audiences) & set(claims.get("aud", ())):
            raise BadToken("the token is for another audience")
        if not claims["nbf"] <= now < claims["exp"]:
            raise BadToken("the token has expired")
        said = claims["kubernetes.io"]
        space, account = said["namespace"], said["serviceaccount"]
        self._check("serviceaccounts", space, account)
        extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims['jti']}",)}
        for kind, plural in _BOUND.items():
            bound = said.get(kind.lower())
            if bound is not None:
                self._check(plural, "" if kind == "Node" else space, bound)
                if kind != "Secret":
                    prefix = f"authentication.kubernetes.io/{kind.lower()}-"
                    extra[f"{prefix}name"] = (bound["name"],)
                    extra[f"{prefix}uid"] = (bound["uid"],)
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{space}")
        known = authenticated(claims["sub"], groups, account["uid"])
        return User(known.name, known.groups, known.uid, extra)

    def keys(self) -> Document:
        """The public keys (`/openid/v1/jwks`)."""
        numbers = self._key().public_key().public_numbers()
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
        """`/.well-known/openid-configuration`. base: where this server is reached."""
        return {
            "issuer": ISSUER,
            "jwks_uri": f"{base}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }

    def _check(self, plural: str, namespace: str, said: Document) -> None:
        table = self._store.peek(plural)
        found = None if table is None else table.get(namespace, said["name"])
        if found is None or found["metadata"]["uid"] != said["uid"]:
            raise BadToken("what the token belongs to is not there any more")

    # signatures

    def _claims(self, token: str) -> Document:
        """What a token of ours says; its signature is checked once."""
        known = self._verified.get(token)
        if known is not None:
            return known
        try:
            head, content, signature = token.split(".")
            header = _decode(_raw(head))
            if header["alg"] != "ES256" or header["kid"] != self._identity():
                raise BadToken("the token is signed by somebody else")
            self._verify(f"{head}.{content}".encode(), _raw(signature))
            claims: Document = _decode(_raw(content))
        except (ValueError, KeyError, TypeError, msgspec.MsgspecError):
            raise BadToken("the token is malformed") from None
        if len(self._verified) >= _REMEMBERED:
            self._verified.clear()
        self._verified[token] = claims
        return claims

    def _verify(self, message: bytes, signature: bytes) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

        if len(signature) != 2 * _HALF:
            raise BadToken("the token is malformed")
        first, second = signature[:_HALF], signature[_HALF:]
        pair = int.from_bytes(first, "big"), int.from_bytes(second, "big")
        try:
            self._key().public_key().verify(encode_dss_signature(*pair), message, _algorithm())
        except InvalidSignature:
            raise BadToken("the token is signed by somebody else") from None

    def _signed(self, claims: Document) -> str:
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        header = {"alg": "ES256", "kid": self._identity()}
        message = f"{_base64(_encode(header))}.{_base64(_encode(claims))}"
        pair = decode_dss_signature(self._key().sign(message.encode(), _algorithm()))
        signature = b"".join(number.to_bytes(_HALF, "big") for number in pair)
        return f"{message}.{_base64(signature)}"

    def _identity(self) -> str:
        from cryptography.hazmat.primitives import serialization as form

        public = self._key().public_key()
        der = public.public_bytes(form.Encoding.DER, form.PublicFormat.SubjectPublicKeyInfo)
        return _base64(hashlib.sha256(der).digest())

    def _key(self) -> EllipticCurvePrivateKey:
        if self._private is None:
            from cryptography.hazmat.primitives.asymmetric import ec
            from cryptography.hazmat.primitives.serialization import load_pem_private_key

            key = load_pem_private_key(self._pem(), password=None)
            if not isinstance(key, ec.EllipticCurvePrivateKey) or key.key_size != 8 * _HALF:
                raise KapyError(f"{KEY_FILE} is no P-256 key; remove it to have a new one made")
            self._private = key
        return self._private

    def _pem(self) -> bytes:
        from kapy.kube.pki import new_key

        if self._directory is None:
            return new_key("ECDSA-P256")
        path = self._directory / KEY_FILE
        if not path.exists():
            beside = path.with_suffix(".new")
            beside.unlink(missing_ok=True)
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(new_key("ECDSA-P256"))
                file.flush()
                os.fsync(file.fileno())
            beside.rename(path)
        return path.read_bytes()


def _algorithm() -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256

    return ec.ECDSA(SHA256())


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
