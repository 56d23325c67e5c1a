"""Sprig's functions with a different result at each call: random values, keys, salts, the time.

A value that depends on one would change at every reconcile and replace machines for ever. Therefore
they return fixed placeholder values here, from one of two sets ("worlds"). A template is rendered
with both sets, and the output is used only if it is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from kapy.kube.template_work import current

Function = Callable[..., Any]

_TIMES: Final = (
    datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC),
    datetime(2038, 11, 19, 13, 47, 58, tzinfo=UTC),
)
_KEY: Final = 6_000
_CERTIFICATE: Final = 1_000
_HASHED: Final = 72


def names() -> frozenset[str]:
    """Return the names of these functions."""
    return frozenset(_MAKERS)


def functions(originals: dict[str, Function]) -> dict[str, Function]:
    """Return the replacements of gotpl's functions by name."""
    return {name: make(originals) for name, make in _MAKERS.items()}


def _clock() -> datetime:
    return _TIMES[current().world]


def _of_clock(name: str) -> Callable[[dict[str, Function]], Function]:
    def make(originals: dict[str, Function]) -> Function:
        function = originals[name]
        return lambda value: function(value, clock=_clock)

    return make


def _random_int(_: dict[str, Function]) -> Function:
    def choose(least: int, limit: int) -> int:
        if limit <= least:
            raise ValueError("invalid argument to Intn")
        return limit - 1 if current().world else least

    return choose


def _shuffle(_: dict[str, Function]) -> Function:
    return lambda text: text[1:] + text[:1] if current().world else text


def _bcrypt(originals: dict[str, Function]) -> Function:
    real = originals["bcrypt"]

    def compute_hash(value: str) -> str:
        if len(value.encode()) > _HASHED:
            return str(real(value))  # raises if it is too long
        return "$2a$10$" + "AB"[current().world] * 53

    return compute_hash


def _htpasswd(originals: dict[str, Function]) -> Function:
    hashed = _bcrypt(originals)

    def entry(user: str, password: str) -> str:
        return f"invalid username: {user}" if ":" in user else f"{user}:{hashed(password)}"

    return entry


def _encrypt(originals: dict[str, Function]) -> Function:
    real = originals["encryptAES"]
    return lambda password, text: real(password, text, entropy=_entropy)


def _entropy(count: int) -> bytes:
    return bytes((current().world,)) * count


def _private_key(originals: dict[str, Function]) -> Function:
    real = originals["genPrivateKey"]

    def generate(kind: str) -> str:
        current().charge(_KEY)
        return _key(kind, current().world) or str(real(kind))

    return generate


@cache
def _key(kind: str, world: int) -> str:  # noqa: ARG001
    """Return a placeholder key of a type, cached per world and too small for real use.

    Returns "" for an unknown type.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa

    key: Any
    form = serialization.PrivateFormat.TraditionalOpenSSL
    match kind:
        case "" | "rsa":
            key = rsa.generate_private_key(65537, 2048)
        case "dsa":
            key = dsa.generate_private_key(1024)
        case "ecdsa":
            key = ec.generate_private_key(ec.SECP256R1())
        case "ed25519":
            key = ed25519.Ed25519PrivateKey.generate()
            form = serialization.PrivateFormat.PKCS8
        case _:
            return ""
    pem: bytes = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return pem.decode()


def _certificate(name: str, at: int) -> Callable[[dict[str, Function]], Function]:
    """Return a function that creates a certificate with its own key. at: the index of the key
    argument.
    """

    def make(originals: dict[str, Function]) -> Function:
        signed = originals[f"{name}WithKey"]

        def generate(*arguments: Any) -> Any:
            current().charge(_CERTIFICATE + _KEY)
            key = _key("rsa", current().world)
            return signed(*arguments[:at], key, *arguments[at:], clock=_clock)

        return generate

    return make


def _certificate_with_key(name: str) -> Callable[[dict[str, Function]], Function]:
    def make(originals: dict[str, Function]) -> Function:
        signed = originals[name]

        def generate(*arguments: Any) -> Any:
            current().charge(_CERTIFICATE)
            return signed(*arguments, clock=_clock)

        return generate

    return make


_MAKERS: Final[dict[str, Callable[[dict[str, Function]], Function]]] = {
    "ago": _of_clock("ago"),
    "durationRound": _of_clock("durationRound"),
    "randInt": _random_int,
    "shuffle": _shuffle,
    "bcrypt": _bcrypt,
    "htpasswd": _htpasswd,
    "encryptAES": _encrypt,
    "genPrivateKey": _private_key,
    "genCA": _certificate("genCA", 2),
    "genSelfSignedCert": _certificate("genSelfSignedCert", 4),
    "genSignedCert": _certificate("genSignedCert", 5),
    **{
        name: _certificate_with_key(name)
        for name in ("genCAWithKey", "genSelfSignedCertWithKey", "genSignedCertWithKey")
    },
}
