"""The versions of AdmissionReview and ConversionReview that the server speaks, `v1` and `v1beta1`.

A webhook lists the versions that it accepts; it is sent the first of them that the server knows.
Of an answer in `v1`, apiVersion, kind and uid must be those of the question; in `v1beta1`
kube-apiserver never checked them, and does not start now.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.kube import Document

V1: Final = "v1"
KNOWN: Final = ("v1", "v1beta1")


def first_known(versions: Iterable[str]) -> str:
    """The first of a webhook's versions that the server speaks, "" when there is none."""
    return next((one for one in versions if one in KNOWN), "")


def wrong_uid(answer: Document, uid: str) -> str:
    """What is wrong with the uid of a response in `v1`, "" when nothing is."""
    response = answer.get("response")
    found = (response.get("uid") or "") if isinstance(response, dict) else ""
    return "" if found == uid else f'expected response.uid="{uid}", got "{found}"'


def wrong_kind(answer: Document, group: str, kind: str) -> str:
    """What is wrong with apiVersion and kind of an answer in `v1`, "" when nothing is."""
    given, named = answer.get("apiVersion") or "", answer.get("kind") or ""
    if (given, named) == (f"{group}/{V1}", kind):
        return ""
    shown = given if "/" in given else f"/{given}"
    return f"expected webhook response of {group}/{V1}, Kind={kind}, got {shown}, Kind={named}"
