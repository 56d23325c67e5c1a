"""The option `--webhook-service`: the addresses of Services that webhooks and conversions
refer to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import click

METAVAR: Final = "NAMESPACE/NAME[:PORT]=HOST:PORT"
_SERVICE: Final = re.compile(r"(?P<space>[^/:=]+)/(?P<name>[^/:=]+)(?::(?P<port>\d+))?")


def services_of(values: Mapping[str, Any]) -> dict[tuple[str, str, int], str]:
    """Base URLs by namespace, name and port (0: any). Raises click.UsageError."""
    places: dict[tuple[str, str, int], str] = {}
    for text in values["webhook_service"]:
        service, url = _place(text)
        if places.setdefault(service, url) != url:
            raise _bad(f"two places of {service[0]}/{service[1]} are given")
    return places


def _place(text: str) -> tuple[tuple[str, str, int], str]:
    result, _, where = text.partition("=")
    match = _SERVICE.fullmatch(result)
    if match is None or not where:
        raise _bad(f"{text!r} has not the form {METAVAR}")
    url = where if "://" in where else f"https://{where}"
    if not _is_base(url):
        raise _bad(f"{where!r} is no HTTPS server; say HOST:PORT, or https://HOST:PORT/PATH")
    return (match["space"], match["name"], int(match["port"] or 0)), url


def _is_base(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_complete = parts.scheme == "https" and parts.hostname and parts.port != 0
    except ValueError:  # no number as port
        return False
    return bool(is_complete) and not (parts.query or parts.fragment or parts.username)


def _bad(reason: str) -> click.UsageError:
    return click.BadParameter(reason, param_hint="--webhook-service")
