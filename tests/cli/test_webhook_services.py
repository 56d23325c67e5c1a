"""Tests of the option of `kapy up` that gives the addresses of webhook services."""

from __future__ import annotations

import click
import pytest

from kapy.cli.webhook_services import services_of


@pytest.mark.parametrize(
    ("text", "service", "url"),
    [
        ("n/s=127.0.0.1:9443", ("n", "s", 0), "https://127.0.0.1:9443"),
        ("n/s:443=host:9443", ("n", "s", 443), "https://host:9443"),
        ("n/s=https://host/base", ("n", "s", 0), "https://host/base"),
        ("n/s=[::1]:9443", ("n", "s", 0), "https://[::1]:9443"),
    ],
)
def test_a_webhook_service_has_an_address(
    text: str, service: tuple[str, str, int], url: str
) -> None:
    assert services_of({"webhook_service": (text,)}) == {service: url}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (["s=host:1"], "'s=host:1' has not the form NAMESPACE/NAME[:PORT]=HOST:PORT"),
        (["n/s"], "'n/s' has not the form NAMESPACE/NAME[:PORT]=HOST:PORT"),
        (["n/s:x=host:1"], "'n/s:x=host:1' has not the form NAMESPACE/NAME[:PORT]=HOST:PORT"),
        (["n/s=http://host"], "'http://host' is no HTTPS server"),
        (["n/s=host:port"], "'host:port' is no HTTPS server"),
        (["n/s=https://host?x=1"], "'https://host?x=1' is no HTTPS server"),
        (["n/s=a:1", "n/s=b:1"], "two places of n/s are given"),
    ],
)
def test_invalid_values_are_reported(values: list[str], sentence: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        services_of({"webhook_service": tuple(values)})
    assert sentence in refused.value.format_message()
