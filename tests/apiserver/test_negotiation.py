"""Tests of the response's media type for an Accept header (as in kube-apiserver v1.36.3)."""

from __future__ import annotations

import pytest

from kapy.apiserver.request.negotiation import MediaType, negotiate, negotiate_stream, wants_yaml
from kapy.kube.errors import NotAcceptable

_TABLE = "as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", MediaType()),
        ("*/*", MediaType()),
        ("application/*", MediaType()),
        ("text/html, application/json;q=0.5", MediaType()),
        ("application/json;q=0.5,application/yaml", MediaType(yaml=True)),
        ("application/yaml;q=0.5,application/json", MediaType()),
        ("application/yaml, */*", MediaType(yaml=True)),
        ("application/json;stream=watch", MediaType()),
        ("application/json;sv=v1", MediaType()),
        (f"application/yaml;{_TABLE}", MediaType("Table", "v1", yaml=True)),
        (f"application/json;as=X;v=v1;g=meta.k8s.io,application/json;{_TABLE}", MediaType("Table")),
        (f"application/json;{_TABLE},application/json", MediaType("Table")),
    ],
)
def test_the_first_supported_media_type_is_used(header: str, expected: MediaType) -> None:
    assert negotiate({"accept": header}) == expected


@pytest.mark.parametrize(
    "header",
    [
        "nonsense",
        "text/*",
        "*/json",
        "application/json/x",
        "application/yaml;stream=watch",
        "application/json;stream=x",
        "application/json;sv=v2",
        "application/json;v=v1",
        "application/json;as=Table;v=v1",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
        "," * 100_000,
    ],
)
def test_unsupported_media_types_are_refused(header: str) -> None:
    with pytest.raises(NotAcceptable, match="application/yaml"):
        negotiate({"accept": header})


def test_a_watch_cannot_be_in_yaml() -> None:
    assert negotiate_stream({"accept": f"application/json;{_TABLE}"}) == MediaType("Table")
    with pytest.raises(NotAcceptable, match="stream=watch"):
        negotiate_stream({"accept": "application/yaml"})


def test_errors_are_never_tables() -> None:
    header = f"application/yaml;{_TABLE}"
    assert wants_yaml(header, failed=False)
    assert not wants_yaml(header, failed=True)
    assert wants_yaml(f"{header},application/yaml", failed=True)
