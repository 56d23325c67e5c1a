"""`python -m kapy.testing.cloud`: serve the simulated cloud until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

from kapy._aio.clock import system_clock
from kapy._aio.services import run_services
from kapy.apiserver.serving import listen
from kapy.testing.cloud.application import Application
from kapy.testing.cloud.cloud import Cloud


async def serve(host: str, port: int, boot_seconds: float) -> None:
    """Serve until SIGINT or SIGTERM."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    cloud = Cloud(system_clock, boot_seconds=boot_seconds)
    async with (
        run_services(cloud=cloud.run),
        listen(Application(cloud), host=host, port=port) as at,
    ):
        sys.stdout.write(f"the cloud is at http://{at[0]}:{at[1]}\n")
        sys.stdout.flush()
        await stopped.wait()


def main() -> int:
    """Parse the command line and serve the cloud; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m kapy.testing.cloud", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8800, help="port to listen on (8800)")
    parser.add_argument(
        "--boot-seconds", type=float, default=1.0, help="what a server takes to start (1)"
    )
    arguments = parser.parse_args()
    try:
        asyncio.run(serve(arguments.host, arguments.port, arguments.boot_seconds))
    except OSError as error:
        parser.exit(
            1, f"cannot listen on {arguments.host}:{arguments.port}: {error.strerror or error}\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
