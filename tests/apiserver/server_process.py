"""A server for the recorded cases: tokens for admin and alice, a certificate of its own.

    python -m tests.apiserver.server_process --port 16443 [--data-dir DIR]

Prints the address when it listens, and stops on SIGTERM or SIGINT.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from pathlib import Path

from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import Authenticator, authenticated_user
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen

TOKENS = {
    "admin-token": authenticated_user("admin", ("system:masters",), "admin"),
    "alice-token": authenticated_user("alice", (), "alice"),
}


async def serve(port: int, directory: Path | None, *, controllers: bool = True) -> None:
    """Serve until a signal asks to stop."""
    server = Server.open(directory, clock=system_clock)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stop.set)
    async with (
        asyncio.TaskGroup() as group,
        listen(Application(server, Authenticator(TOKENS)), port=port) as (host, number),
    ):
        running = group.create_task(server.run()) if controllers else None
        print(f"http://{host}:{number}", flush=True)  # noqa: T201
        await stop.wait()
        if running is not None:
            running.cancel()
    server.close()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--without-controllers", action="store_true")
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.data_dir, controllers=not options.without_controllers))


if __name__ == "__main__":
    main()
