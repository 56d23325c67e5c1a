"""Errors of container engines; each message says what to do about it.

* EngineError                   every failure of an engine
  + EngineUnreachable           nobody answers, or the socket may not be used
  + NoSuchObject                no such container, network or exec
  + ImageUnavailable            the image is missing and cannot be pulled
  + NameInUse                   another container or network has the name
  + AmbiguousName               several networks have the name
  + PortInUse                   another program listens on the port
  + DiskFull                    the engine has no space left
  + NotPermitted                the engine may not start privileged containers
"""

from __future__ import annotations

import re
import struct
import tarfile
from typing import Final

from kapy.kube.errors import KapyError

MAX_QUOTED: Final = 500
"""Maximum quoted characters of an engine's message."""

_MAX_NAME_LENGTH: Final = 1024
_PART_OF_NAME: Final = re.compile(r"\w[\w.:@-]*", re.ASCII)

INVALID_ANSWER_ERRORS: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RuntimeError,  # raised for JSON that is nested too deeply
    struct.error,
    tarfile.TarError,
)
"""Exceptions of the library and this package for a response that no engine would send."""


class EngineError(KapyError):
    """The engine refused or failed."""


class EngineUnreachable(EngineError):
    """No engine answers; the outcome of a request is unknown."""


class NoSuchObject(EngineError):
    """The engine does not know the container, network or image."""


class ImageUnavailable(EngineError):
    """An image is missing and cannot be pulled."""


class NameInUse(EngineError):
    """The name belongs to another object of the engine."""


class AmbiguousName(EngineError):
    """Several networks have the name, and the engine refuses to choose."""


class PortInUse(EngineError):
    """A port of the engine's machine belongs to another program."""


class DiskFull(EngineError):
    """The engine's disk has no space left."""


class NotPermitted(EngineError):
    """The engine's machine does not allow what the container needs."""


class AnswerTooLarge(Exception):
    """A response is too large; the message has no subject ("has more than 4 MiB")."""


def unreachable(address: str, error: BaseException) -> EngineUnreachable:
    """Return the failure of a connection to the engine."""
    reason = _root_cause(error)
    if isinstance(reason, PermissionError):
        return EngineUnreachable(
            f"the container engine at {address} may not be used by this user (permission "
            "denied): add the user to the group of the socket (`usermod -aG docker $USER`, then "
            "log in again), or set DOCKER_HOST to the socket of a rootless engine"
        )
    if isinstance(reason, TimeoutError):
        return EngineUnreachable(
            f"the container engine at {address} does not answer in time: look at its logs "
            "(`journalctl -u docker`)"
        )
    if "certificate" in str(reason):
        return EngineUnreachable(
            f"the certificate of the container engine at {address} is not accepted "
            f"({quote(str(reason))}): put the authority that signed it into ca.pem in "
            "DOCKER_CERT_PATH, and use a name in DOCKER_HOST that the certificate has"
        )
    return EngineUnreachable(
        f"no container engine answers at {address} ({quote(str(reason)) or type(reason).__name__})"
        ": start Docker or Podman, or set DOCKER_HOST to the address of an engine"
    )


def bad_certificates(address: str, error: OSError) -> EngineUnreachable:
    """Return an error about certificates for the engine that are missing or cannot be read."""
    return EngineUnreachable(
        f"the certificates for the container engine at {address} cannot be used "
        f"({quote(str(error))}): DOCKER_CERT_PATH has to name a folder with ca.pem, cert.pem and "
        "key.pem, as DOCKER_TLS_VERIFY is set"
    )


def _root_cause(error: BaseException) -> BaseException:
    """Return the operating system's error, beneath the layers of the library."""
    result = getattr(error, "os_error", None)
    if isinstance(result, BaseException):
        return result
    return error.__cause__ if isinstance(error.__cause__, OSError) else error


_NAME = re.compile(
    r'name "?/?[\w.-]+"? is already in use|network name [\w.-]+ already used|already exists',
    re.ASCII,
)
_CONFLICT = (409, 500)
"""Statuses for names in use: Docker's and Podman's."""
_PORT = re.compile(
    r"port is already allocated|address already in use|bind for (\S+) failed", re.ASCII | re.I
)
_DISK = re.compile(r"no space left on device|disk quota exceeded", re.I)
_RIGHTS = re.compile(
    r"unable to apply caps|operation not permitted|permission denied|"
    r"cannot set capabilities|write sysctl|requires? root",
    re.I,
)
_PLAIN = re.compile(r"HTTP request to an HTTPS server", re.I)
_AMBIGUOUS = re.compile(r"network \S+ is ambiguous", re.I)
_IMAGE = re.compile(r"no such image|image not known|unable to find image", re.I)


def request_error(operation: str, status: int, message: str) -> EngineError:
    """Return the error for an engine's response. operation: such as "start container a"."""
    said = quote(message)
    failed = f"cannot {operation}: {said}"
    if _PLAIN.search(message):
        return EngineUnreachable(
            f"{failed}: set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the folder with ca.pem, "
            "cert.pem and key.pem"
        )
    if _DISK.search(message):
        return DiskFull(
            f"{failed}: the engine's disk is full; free space on it (`docker system df` shows "
            "what uses it, `docker system prune` removes what nobody uses)"
        )
    if _PORT.search(message):
        return PortInUse(
            f"{failed}: another program uses the port; stop it (`ss -ltnp` shows it) or choose "
            "another port"
        )
    if _IMAGE.search(message):
        return ImageUnavailable(
            f"{failed}: put the image into the engine (`docker pull`, `docker load`) or choose "
            "another one"
        )
    if status in _CONFLICT and _NAME.search(message):
        return NameInUse(
            f"{failed}: remove what has the name if it is not needed (`docker rm -f`), or choose "
            "another name"
        )
    return _other_error(failed, status, message)


def _other_error(failed: str, status: int, message: str) -> EngineError:
    if _AMBIGUOUS.search(message):
        return AmbiguousName(
            f"{failed}: remove the other ones (`docker network ls` shows them, `docker network rm "
            "ID` removes one)"
        )
    if status == 404:
        return NoSuchObject(failed)
    if _RIGHTS.search(message):
        return NotPermitted(
            f"{failed}: the engine's machine does not grant what a privileged container needs; "
            "run the engine as root with all capabilities, or make a runtime that asks for less "
            "the engine's default or name it in KAPY_CONTAINER_RUNTIME"
        )
    return EngineError(failed)


def pull_failed(image: str, message: str) -> EngineError:
    """Return a pull that the engine or the registry ended."""
    said = quote(message)
    if _DISK.search(message):
        return request_error(f"pull image {image}", 500, message)
    return ImageUnavailable(
        f"image {image} is not in the container engine and cannot be pulled: {said}; check the "
        "name and the engine's way to the registry, or put the image into the engine "
        "(`docker load`, `docker tag`)"
    )


def check_image_name(image: str) -> str:
    """Check an image name, which becomes part of URL paths of the engine's API, and return it.

    Raises ImageUnavailable for a name that is invalid or would change the path.
    """
    parts = image.split("/")
    if len(image) > _MAX_NAME_LENGTH or not all(_PART_OF_NAME.fullmatch(item) for item in parts):
        raise ImageUnavailable(
            f"{quote(image)!r} is no name of an image: give it as registry/name:tag or "
            "registry/name@sha256:digest"
        )
    return image


def quote(message: str) -> str:
    """Return a foreign message as one line that is short enough for a condition."""
    line = " ".join(message.split()).rstrip(".:;, ")
    return line if len(line) <= MAX_QUOTED else f"{line[:MAX_QUOTED]}…"
