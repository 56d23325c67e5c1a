"""The supported versions of AdmissionReview and ConversionReview: `v1` and `v1beta1`.

A webhook lists the versions that it accepts and receives the first one that this server supports. A
`v1` response must have the apiVersion, kind and uid of the request; kube-apiserver does not check
these in `v1beta1`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.kube import Document

V1: Final = "v1"
KNOWN: Final = ("v1", "v1beta1")


def first_supported(versions: Iterable[str]) -> str:
    """Return the first listed version that this server supports, "" if there is none."""
    return next((version for version in versions if version in KNOWN), "")


def uid_error(answer: Document, uid: str) -> str:
    """Return the error if the uid of a `v1` response is wrong, else ""."""
    response = answer.get("response")
    result = (response.get("uid") or "") if isinstance(response, dict) else ""
    return "" if result == uid else f'expected response.uid="{uid}", got "{result}"'


def kind_error(answer: Document, group: str, kind: str) -> str:
    """Return the error if apiVersion or kind of a `v1` response is wrong, else ""."""
    api_version, named = answer.get("apiVersion") or "", answer.get("kind") or ""
    if (api_version, named) == (f"{group}/{V1}", kind):
        return ""
    shown = api_version if "/" in api_version else f"/{api_version}"
    return f"expected webhook response of {group}/{V1}, Kind={kind}, got {shown}, Kind={named}"
