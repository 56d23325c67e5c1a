"""Selects the proxy for a server from the environment (`HTTPS_PROXY`, `NO_PROXY`).

The rules are those of Go programs such as kubectl: this machine itself is never reached through a
proxy, and `NO_PROXY` contains names, suffixes of names, addresses and networks (`10.0.0.0/8`).
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from kapy.kube.digits import has_only_digits, parse_integer


def proxy_for(server: str, environ: Mapping[str, str]) -> str:
    """Return the URL of the proxy for a server's URL, "" for none."""
    url = urlsplit(server)
    scheme, host = url.scheme, url.hostname or ""
    result = environ.get(f"{scheme}_proxy") or environ.get(f"{scheme.upper()}_PROXY") or ""
    if not result or _is_this_machine(host):
        return ""
    port = url.port or (443 if scheme == "https" else 80)
    direct = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    if any(
        _matches(item.strip().lower(), host, port) for item in direct.split(",") if item.strip()
    ):
        return ""
    return result if "://" in result else f"http://{result}"


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    from ipaddress import ip_address  # only needed with a proxy

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _matches(pattern: str, host: str, port: int) -> bool:
    """Return whether an entry of NO_PROXY matches a host."""
    if pattern == "*":
        return True
    if "/" in pattern:
        return _is_within(pattern, host)
    name, colon, its_port = pattern.rpartition(":")
    if colon and has_only_digits(its_port) and (":" not in name or name.endswith("]")):
        if parse_integer(its_port) != port:
            return False
        pattern = name
    pattern = pattern.strip("[]").removeprefix("*")
    bare = pattern.lstrip(".")
    return (host == bare and not pattern.startswith(".")) or host.endswith(f".{bare}")


def _is_within(network: str, host: str) -> bool:
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
