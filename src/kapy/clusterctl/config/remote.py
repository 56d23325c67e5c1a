"""Downloads a configuration file from a URL."""

from __future__ import annotations

import urllib.request
from typing import Final
from urllib.error import HTTPError, URLError

from kapy import __version__
from kapy.clusterctl.errors import ConfigError

TIMEOUT: Final = 30.0
_MAX_BYTES: Final = 16 * 2**20


def download(url: str) -> bytes:
    """Return the content of the file. This call blocks, because every command needs the file first.

    Raises ConfigError.
    """
    cannot = f"failed to download the clusterctl config file from {url}"
    request = urllib.request.Request(url, headers={"User-Agent": f"kapy/{__version__}"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            content: bytes = answer.read(_MAX_BYTES + 1)
    except HTTPError as error:
        raise ConfigError(f"{cannot}: got {error.code}; check the URL after --config") from error
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise ConfigError(f"{cannot}: {reason}; check the URL and the network") from error
    if len(content) > _MAX_BYTES:
        raise ConfigError(f"{cannot}: it is larger than 16 MiB, so it is no such file")
    return content
