"""The connection to a container engine; its failures become errors with a remedy."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from kapy.containers.address import check_address, engine_address
from kapy.containers.errors import (
    INVALID_ANSWER_ERRORS,
    AnswerTooLarge,
    EngineError,
    EngineUnreachable,
    bad_certificates,
    pull_failed,
    request_error,
    unreachable,
)
from kapy.containers.records import EngineInfo

if TYPE_CHECKING:
    from aiodocker import Docker
    from aiohttp import ClientTimeout

CONNECT_TIMEOUT: Final = 10.0
ANSWER_TIMEOUT: Final = 120.0
"""Seconds; a busy disk makes the start of a container take most of a minute."""

NO_CONNECTION: Final = 900
"""The status that the library reports for a request without a connection."""


class Connection:
    """The connection to one container engine.

    address: its URL, None for the one of the Docker context in use.
    """

    def __init__(self, address: str | None) -> None:
        self.address = address or "the current Docker context"
        self._address = address
        self._library: Docker | None = None
        self._info: EngineInfo | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Return the engine that the environment names. Raises EngineUnreachable."""
        return cls(engine_address(os.environ if environment is None else environment, Path.home()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections to the engine."""
        library, self._library = self._library, None
        if library is not None:
            await library.close()

    @asynccontextmanager
    async def engine_call(self, operation: str, *, pulls: str = "") -> AsyncIterator[Docker]:
        """Convert failures of the requests in this block to our errors."""
        from aiodocker.exceptions import DockerContextError, DockerError
        from aiohttp import ClientError
        from aiohttp.http_exceptions import HttpProcessingError

        try:
            yield self.open()
        except DockerContextError as error:
            raise EngineUnreachable(
                f"the Docker context cannot be used: {error}; set DOCKER_HOST to the address of "
                "an engine, or choose another context (`docker context use default`)"
            ) from None
        except DockerError as error:
            if error.status == NO_CONNECTION:
                raise unreachable(self.address, error.__context__ or error) from None
            if pulls:
                raise pull_failed(pulls, str(error.message)) from None
            raise request_error(operation, error.status, str(error.message)) from None
        except (ClientError, OSError, TimeoutError) as error:
            raise unreachable(self.address, error) from error
        except AnswerTooLarge as error:
            raise EngineError(
                f"cannot {operation}: the answer of {self.address} {error}"
            ) from error
        except (*INVALID_ANSWER_ERRORS, HttpProcessingError) as error:
            raise EngineError(
                f"cannot {operation}: {self.address} answers with something that is no answer of a "
                f"container engine ({type(error).__name__}): DOCKER_HOST has to name a Docker "
                "Engine or Podman"
            ) from error

    def open(self) -> Docker:
        if self._library is None:
            from aiodocker.exceptions import DockerError

            from kapy.containers.responses import open_library

            if self._address is not None:
                check_address(self._address, os.environ)
            try:
                self._library = open_library(self._address, _timeout())
            except (ImportError, DockerError) as error:
                raise EngineUnreachable(
                    f"an engine over SSH ({self.address}) needs the package asyncssh: install it "
                    "beside kapy (`pip install asyncssh`), or forward the engine's socket"
                ) from error
            except OSError as error:  # includes TLS errors
                raise bad_certificates(self.address, error) from error
        return self._library


def _timeout() -> ClientTimeout:
    from aiohttp import ClientTimeout

    return ClientTimeout(total=ANSWER_TIMEOUT, sock_connect=CONNECT_TIMEOUT)


def stream_timeout() -> ClientTimeout:
    """Return the timeout of a response of any length, which must not stall."""
    from aiohttp import ClientTimeout

    return ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=ANSWER_TIMEOUT)
