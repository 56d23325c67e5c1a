"""A client of gRPC's health service, `grpc.health.v1.Health/Check`, for probes."""

from __future__ import annotations

import asyncio
from typing import Final

from kapy.remote.grpc import GrpcClient, GrpcError

_CHECK: Final = "/grpc.health.v1.Health/Check"
_SERVING: Final = b"\x08\x01"  # field 1 (status), SERVING


class _Connection:
    """A `ByteStream` on a connection of asyncio."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        return await self._reader.read(1 << 16)

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    def close(self) -> None:
        self._writer.close()


async def is_serving(address: str, port: int, service: str) -> bool:
    """Return whether a service ("" for the whole server) reports SERVING. Raises OSError."""
    reader, writer = await asyncio.open_connection(address, port)
    client = GrpcClient(_Connection(reader, writer), f"{address}:{port}")
    try:
        return (await client.call(_CHECK, _request(service))).startswith(_SERVING)
    except GrpcError as error:
        raise OSError(str(error)) from None
    finally:
        writer.close()


def _request(service: str) -> bytes:
    name = service.encode()[:127]
    return bytes([0x0A, len(name)]) + name if name else b""
