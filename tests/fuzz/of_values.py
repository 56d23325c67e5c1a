"""Harnesses of small values: quantities, durations, versions, times, names, networks, shares."""

from __future__ import annotations

import string

from kapy.kube import duration, quantity, version
from kapy.kube.int_or_percent import InvalidIntOrPercent, scaled_value
from kapy.kube.qualified_names import (
    dns_1035_label_errors,
    dns_label_errors,
    dns_subdomain_errors,
    label_value,
    label_value_errors,
    qualified_name_errors,
)
from kapy.kube.schema.formats import _FORMATS
from kapy.kube.selectors import InvalidSelector, parse_fields, parse_labels
from kapy.kube.urls import request_uri
from tests.fuzz.harness import Harness


def text_of(data: bytes) -> str:
    """Bytes as a server reads text: what is no UTF-8 is replaced."""
    return data.decode("utf-8", "replace")


def _quantity(data: bytes) -> str:
    text = text_of(data)
    amount = quantity.parse(text)
    printed = quantity.canonical(text)
    assert quantity.parse(printed) == amount, (text[:80], printed)
    assert quantity.canonical(printed) == printed, (text[:80], printed)
    assert quantity.compare(text, printed) == 0
    assert printed.isascii()
    assert len(printed) < 80, printed
    return printed


def _duration(data: bytes) -> str:
    text = text_of(data)
    printed = duration.canonical(text)
    assert duration.canonical(printed) == printed, (text, printed)
    assert duration.parse(printed) == duration.parse(text)
    assert printed.isascii() or "µs" in printed
    return printed


def _version(data: bytes) -> str:
    text = text_of(data)
    for parse in (version.parse, version.parse_tolerant, version.parse_image_tag):
        try:
            result = parse(text)
        except version.InvalidVersion:
            continue
        assert version.compare(result, result) == 0
        version.is_supported_skew(result, version.parse("1.30.0"))
        assert version.parse_tolerant(str(result)) == result or not str(result)
    return text


def _formats(data: bytes) -> None:
    text = text_of(data)
    for check in _FORMATS.values():
        assert check(text) in (True, False)


def _names(data: bytes) -> str:
    text = text_of(data)
    for errors in (
        dns_label_errors,
        dns_1035_label_errors,
        dns_subdomain_errors,
        qualified_name_errors,
        label_value_errors,
    ):
        results = errors(text)
        if not results and text:
            assert text.isascii()
            assert not set(text) & set(string.whitespace), text
    name = label_value(text)
    assert not label_value_errors(name), name
    return name


def _labels(data: bytes) -> str:
    text = text_of(data)
    labels = parse_labels(text)
    printed = str(labels)
    assert parse_labels(printed) == labels, (text, printed)
    labels.selects({"metadata": {"labels": {"a": "b"}}})
    return printed


def _fields(data: bytes) -> None:
    parse_fields(text_of(data)).matches(lambda field: "x")


def _url(data: bytes) -> object:
    return request_uri(text_of(data)).geturl()


def _share(data: bytes) -> int:
    text = text_of(data)
    return scaled_value(text, 10, round_up=True) + scaled_value(text, 1 << 31, round_up=False)


HARNESSES = (
    Harness(
        "quantity",
        _quantity,
        (quantity.InvalidQuantity,),
        (b"1", b"100m", b"1Gi", b"2e3", b"-.5Ki", b"+1.5E", b"12345678901234567890123", b"1e-9"),
        (b"n", b"u", b"m", b"k", b"M", b"G", b"T", b"P", b"E", b"Ki", b"Ei", b"e", b"."),
    ),
    Harness(
        "duration",
        _duration,
        (ValueError,),
        (b"1h30m", b"1.5s", b"-0.000000001s", b"0", b"100us", "3µs".encode(), b"9223372036s"),
        (b"ns", b"us", b"ms", b"h", b"m", b"s", b".", b"-"),
    ),
    Harness(
        "version",
        _version,
        (version.InvalidVersion,),
        (b"v1.30.0", b"1.2.3-rc.1+build.5", b"v1.30", b"1_2_3", b"v1.30.0_kapy.1", b"v1.2.3-a.b"),
        (b"v", b"-rc.", b"+", b".", b"_", b"alpha"),
    ),
    Harness(
        "formats",
        _formats,
        (),
        (
            *(b"2026-01-01T00:00:00Z", b"1h", b"10.0.0.0/8", b"::1/64", b"a@b.c", b"YQ==", b"#fff"),
            *(b"https://a.b/c", b"4111 1111 1111 1111", b"978-3-16-148410-0", b"2026-02-29"),
            *(b"00:11:22:33:44:55", b"aa.bb", b"{12345678-1234-1234-1234-123456789abc}"),
            *(b"rgb(1,2,3)", b"bar/baz", b"507f1f77bcf86cd799439011", b"1.2.3"),
        ),
    ),
    Harness(
        "names",
        _names,
        (),
        (b"a", b"a.b/c", b"example.dev/Name_1", b"-a", b"a" * 300, b"kube-system", "é".encode()),
    ),
    Harness(
        "label-selector",
        _labels,
        (InvalidSelector,),
        (b"a=b,c!=d", b"a in (b, c)", b"!a", b"a", b"x.y/z notin (), b>1", b"a<5", b"a==b"),
        (b" in (", b" notin (", b")", b"!=", b"==", b",", b">", b"<", b"!"),
    ),
    Harness(
        "field-selector",
        _fields,
        (InvalidSelector,),
        (b"metadata.name=a", b"spec.x!=b,c==d", rb"a=b\,c\=d\\", b"="),
        (b"metadata.name", b"!=", b"==", b"\\,", b"\\=", b","),
    ),
    Harness(
        "url",
        _url,
        (ValueError,),
        (b"https://a.b:443/c?d=e#f", b"/a/b", b"http://[::1]:80/", b"//a", b"https://u:p@h/%41"),
        (b"https://", b"[", b"]", b"%", b"@", b":", b"//"),
    ),
    Harness("share", _share, (InvalidIntOrPercent,), (b"50%", b"-1%", b"1000%", b"5", b"%")),
)
