"""URLs of handlers."""

from __future__ import annotations

import pytest

from kapy.api.extension_config import ClientConfig, ServiceReference
from kapy.hooks.call import handler_url
from kapy.hooks.errors import BadAddress
from kapy.hooks.messages.discovery import DISCOVERY

PATH = "hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://host", f"https://host/{PATH}"),
        ("https://[::1]:9443/base/", f"https://[::1]:9443/base/{PATH}"),
        ("https://host/a//b?q=1", f"https://host/a/b/{PATH}?q=1"),
        ("https:/host", f"https:/host/{PATH}"),
        ("https:host", "https:host"),
    ],
)
def test_the_path_of_a_hook_is_appended_to_a_url_as_go_does(url: str, expected: str) -> None:
    assert handler_url(ClientConfig(url=url), DISCOVERY) == expected


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://host", "expected https scheme, got http"),
        ("https://[::1", "missing ']' in host"),
        ("https://a[::1]", "invalid IP-literal"),
        ("https://[x:1]:8443", "invalid host"),
        ("https://host::9443", 'invalid port "::9443" after host'),
        ("https://]", "Invalid IPv6 URL"),
    ],
)
def test_a_url_that_cannot_be_parsed_is_refused(url: str, problem: str) -> None:
    with pytest.raises(BadAddress) as refused:
        handler_url(ClientConfig(url=url), DISCOVERY)
    assert problem in str(refused.value)


def test_characters_that_no_host_name_has_are_escaped() -> None:
    service = ServiceReference(name="a|b", namespace="é", port=443)
    assert (
        handler_url(ClientConfig(service=service), DISCOVERY)
        == f"https://a%7Cb.%C3%A9.svc:443/{PATH}"
    )
