"""Validation of a webhook's `clientConfig` and its list of review versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from kapy.apiserver.resources.review_versions import KNOWN
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, invalid, required
from kapy.kube.qualified_names import dns_1035_label_errors, dns_subdomain_errors
from kapy.kube.urls import url_problem

_FORM: Final = "; desired format: https://host[/path]"


def client_errors(client: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of a `clientConfig`."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif service is not None:
        yield from _service_errors(service, f"{path}.service")
    else:
        yield from _url_errors(str(url), f"{path}.url")


def _url_errors(url: str, path: str) -> Iterator[FieldError]:
    if problem := url_problem(url):
        yield required(path, f"url must be a valid URL: {problem}{_FORM}")
        return
    parts = urlsplit(url)
    if parts.scheme != "https":
        yield invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    user, _, host = parts.netloc.rpartition("@")
    if not host:
        yield invalid(path, host, f"host must be specified{_FORM}")
    for value, what in (
        (user, "user information is"),
        (parts.fragment, "fragments are"),
        (parts.query, "query parameters are"),
    ):
        if value:
            yield invalid(path, value, f"{what} not permitted in the URL")


def _service_errors(service: Document, path: str) -> Iterator[FieldError]:
    # kube-apiserver mixes up the two: a missing namespace is reported as a missing name.
    for field, checked in (("name", "namespace"), ("namespace", "name")):
        if not service.get(checked):
            yield required(f"{path}.{field}")
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        yield invalid(f"{path}.port", port, why)
    place = service.get("path") or ""
    if place not in ("", "/"):
        yield from _path_errors(place, f"{path}.path")


def _path_errors(place: str, path: str) -> Iterator[FieldError]:
    if place == "//":
        yield invalid(path, place, "segment[0] may not be empty")
        return
    if not place.startswith("/"):
        yield invalid(path, place, "must start with a '/'")
    for index, step in enumerate(place[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid(path, place, f"segment[{index}] may not be empty")
            continue
        for text in dns_subdomain_errors(step):
            yield invalid(path, place, f"segment[{index}]: {text}")


def review_version_errors(
    versions: Sequence[str], path: str, *, missing: str, known_needed: bool
) -> Iterator[FieldError]:
    """Yield the errors of a list of review versions.

    missing: the message for an empty list. known_needed: the list must contain a version that this
    server supports.
    """
    if not versions:
        yield required(path, missing)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        for text in dns_1035_label_errors(version):
            yield invalid(f"{path}[{index}]", version, text)
    if known_needed and not any(item in KNOWN for item in versions):
        yield invalid(path, list(versions), f"must include at least one of {', '.join(KNOWN)}")
