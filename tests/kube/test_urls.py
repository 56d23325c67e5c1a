"""URLs as Go's net/url takes them."""

from __future__ import annotations

import pytest

from kapy.kube.urls import request_uri

GOOD = (
    ("https://a.example.com", "https", "a.example.com", ""),
    ("https://me:x@a.example.com:8443/p?q=%zz", "https", "me:x@a.example.com:8443", "/p"),
    ("https://[fd00::1]:443/x", "https", "[fd00::1]:443", "/x"),
    ("https:", "https", "", ""),
    ("mailto:somebody", "mailto", "", "somebody"),
    ("/path/to/hook", "", "", "/path/to/hook"),
    ("/a b", "", "", "/a b"),
)
BAD = (
    ("", "empty url"),
    ("::", "missing protocol scheme"),
    ("a.example.com", "invalid URI for request"),
    ("https//a.example.com", "invalid URI for request"),
    ("https://a b", 'invalid character " " in host name'),
    ("https://a:x", 'invalid port ":x" after host'),
    ("https://[fd00::1", "missing ']' in host"),
    ("https://a%4/", 'invalid URL escape "%4"'),
    ("/%zz", 'invalid URL escape "%zz"'),
    ("/\n", "net/url: invalid control character in URL"),
)


@pytest.mark.parametrize(("text", "scheme", "host", "path"), GOOD)
def test_a_good_url_has_its_parts(text: str, scheme: str, host: str, path: str) -> None:
    parts = request_uri(text)
    assert (parts.scheme, parts.netloc, parts.path) == (scheme, host, path)


@pytest.mark.parametrize(("text", "problem"), BAD)
def test_a_bad_url_is_refused_in_the_words_of_go(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^parse ") as caught:
        request_uri(text)
    assert str(caught.value).partition('": ')[2] == problem
