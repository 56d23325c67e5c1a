"""Assigns ports to programs without port flags, by intercepting their `bind` calls.

Two programs that listen on :9443 could not run side by side. On Linux a program starts with a
seccomp filter that passes its `bind` calls to this module (`launch.hand_over_binds`): it gets the
requested port if that is free, and otherwise a free port of the loopback address. This needs no
privilege and works for static binaries. From then on the program cannot gain privileges
(`no_new_privs`), like a container.

A port of one particular address that the Pod does not declare is never replaced: clients know it
from elsewhere, so the program must learn that it is in use.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Final

from kapy.node_agent.processes.flags import LOOPBACK, FreePort

_RECEIVE: Final = 0xC0502100
_SEND: Final = 0xC0182101
_CALL: Final = struct.Struct("=QIIiIQ6Q")
"""`struct seccomp_notif`: id, pid, flags; number, architecture, instruction and arguments."""
_ANSWER: Final = struct.Struct("=QqiI")
_GO_ON: Final = 1
"""`SECCOMP_USER_NOTIF_FLAG_CONTINUE`: the kernel executes the call unchanged."""
_GET_FD: Final = 438
"""The number of `pidfd_getfd`, which is the same on every architecture."""
_LONGEST_ADDRESS: Final = 128
_IN_USE: Final = (errno.EADDRINUSE, errno.EACCES)
"""Errors after which another port is tried: in use, or for privileged users only."""

_ANY: Final = ("0.0.0.0", "::")

Address = tuple[str, int] | tuple[str, int, int, int]


class Binding:
    """Handles the `bind` calls of one program. ports: the actual ports by requested ones, if they
    differ. on_change: called with the changed ports. free: allocates ports. declared: the ports
    that the Pod declares.
    """

    def __init__(
        self,
        free: FreePort,
        on_change: Callable[[Mapping[int, int]], None],
        declared: Collection[int] = (),
    ) -> None:
        self.ports: dict[int, int] = {}
        self._declared = declared
        self._free = free
        self._changed = on_change
        self._listener = -1
        self._own, self.handed = socket.socketpair()
        self._own.settimeout(0)
        asyncio.get_running_loop().add_reader(self._own, self._receive)

    def close(self) -> None:
        """Stop the handling of `bind` calls: those of a program that still runs fail from now
        on.
        """
        loop = asyncio.get_running_loop()
        for item in (self._own, self.handed):
            if item.fileno() >= 0:
                loop.remove_reader(item)
                item.close()
        if self._listener >= 0:
            loop.remove_reader(self._listener)
            os.close(self._listener)
            self._listener = -1

    def _receive(self) -> None:
        """Receive the handle of the program's calls; None if the program ends first."""
        try:
            _, handles, _, _ = socket.recv_fds(self._own, 1, 1)
        except OSError:
            handles = []
        asyncio.get_running_loop().remove_reader(self._own)
        self._own.close()
        if handles:
            self._listener = handles[0]
            asyncio.get_running_loop().add_reader(self._listener, self._answer_call)

    def _answer_call(self) -> None:
        """Handle one `bind` call of the program."""
        call = bytearray(_CALL.size)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, call)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                self.close()  # no process of the program remains
            return
        number, thread, _, _, _, _, handle, address, length, *_ = _CALL.unpack(call)
        try:
            failed, flags = self._bind(thread, handle, address, length)
        except OSError:
            failed, flags = 0, _GO_ON
        with suppress(OSError):  # the program has ended meanwhile
            fcntl.ioctl(self._listener, _SEND, _ANSWER.pack(number, 0, -failed, flags))

    def _bind(self, thread: int, handle: int, address: int, length: int) -> tuple[int, int]:
        """Bind on behalf of the program; returns the error, and whether the kernel is to bind
        instead."""
        with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            target = address_of(memory.read(min(length, _LONGEST_ADDRESS)))
        if target is None:
            return 0, _GO_ON
        with _socket_of(thread, handle) as item:
            if item.type != socket.SOCK_STREAM:
                return 0, _GO_ON
            try:
                item.bind(target)
            except OSError as error:
                movable = target[0] in _ANY or target[1] in self._declared
                if error.errno not in _IN_USE or not movable:
                    return error.errno or errno.EIO, 0
                return self._bind_elsewhere(item, target[1], error.errno)
        return 0, 0

    def _bind_elsewhere(self, socket_: socket.socket, wanted: int, failed: int) -> tuple[int, int]:
        if socket_.family == socket.AF_INET6 and socket_.getsockopt(
            socket.IPPROTO_IPV6, socket.IPV6_V6ONLY
        ):
            return failed, 0  # the plane reaches programs over IPv4
        host = LOOPBACK if socket_.family == socket.AF_INET else f"::ffff:{LOOPBACK}"
        port = self._free(wanted)
        try:
            socket_.bind((host, port))
        except OSError as error:
            return error.errno or failed, 0
        self.ports[wanted] = port
        self._changed(self.ports)
        return 0, 0


def address_of(content: bytes) -> Address | None:
    """Return the address in a `sockaddr`, None if it has no specific port."""
    if len(content) < 8:
        return None
    family = struct.unpack_from("=H", content)[0]
    (port,) = struct.unpack_from("!H", content, 2)
    if not port:
        return None
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, content[4:8]), port
    if family == socket.AF_INET6 and len(content) >= 24:
        (flow,) = struct.unpack_from("!I", content, 4)
        scope = struct.unpack_from("=I", content, 24)[0] if len(content) >= 28 else 0
        return socket.inet_ntop(socket.AF_INET6, content[8:24]), port, flow, scope
    return None


def _socket_of(thread: int, handle: int) -> socket.socket:
    """Return a second handle of a program's socket. Raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(_process_of(thread))
    try:
        result = library.syscall(_GET_FD, process, handle, 0)
    finally:
        os.close(process)
    if result < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return socket.socket(fileno=result)


def _process_of(thread: int) -> int:
    with open(f"/proc/{thread}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("Tgid:"):
                return int(line.split()[1])
    raise OSError(errno.ESRCH, "no such thread")


async def can_hand_over(launch: list[str]) -> bool:
    """Return whether this host lets programs pass on their `bind` calls. launch: starts one,
    without a `--`.

    It is tested with a program that binds a port in use.
    """
    if not hasattr(os, "pidfd_open"):
        return False
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        port = taken.getsockname()[1]
        binding = Binding(lambda _: 0, lambda _: None)
        program = f"import socket; socket.socket().bind(('', {port}))"
        command = [*launch, f"--binds={binding.handed.fileno()}", "--plain", "/", "--"]
        try:
            trial = await asyncio.create_subprocess_exec(
                *command, launch[0], "-I", "-S", "-c", program,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                pass_fds=[binding.handed.fileno()],
            )  # fmt: skip
            binding.handed.close()
            return await trial.wait() == 0
        finally:
            binding.close()
