"""Starts a program in a mount namespace of its own, with folders at the paths that it looks for.

    python -I -S launch.py [--binds=FD] [--plain] SCRATCH [SOURCE PATH]... -- PROGRAM [ARGUMENT]...

--binds: a socket that gets the handle by which the program's `bind` calls are answered (`binding`).
--plain: no mount namespace.

It becomes the program (the process id stays). Nothing of the host changes, and no privilege is
left: a user who is not root gets the namespace together with a user namespace of his own, in which
he is himself. Exit code 125 with a sentence: the host does not allow it. This file imports nothing
but the standard library, so that it starts at once.
"""

from __future__ import annotations

import array
import ctypes
import os
import platform
import socket
import struct
import sys

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_NO_NEW_PRIVILEGES = 38
_SET_FILTER, _NEW_LISTENER = 1, 8
_MACHINES = {"x86_64": (317, 49, 0xC000003E), "aarch64": (277, 200, 0xC00000B7)}
"""The numbers of `seccomp` and `bind`, and of the architecture itself."""
REFUSED_EXIT_CODE = 125
MAX_ENTRIES = 500
"""Entries of a folder that are shown again beside what is added to it."""


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, operation: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{operation}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str, flags: int) -> None:
    result = _library().mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), None
    )
    _check(result, f"mount {source} at {target}")


def enter_namespace() -> None:
    """Enter a new mount namespace. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    flags = _CLONE_NEWNS if user == 0 else _CLONE_NEWNS | _CLONE_NEWUSER
    _check(_library().unshare(flags), "unshare")
    if user != 0:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)


def bind(source: str, path: str, scratch: str) -> None:
    """Show a folder or file at a path, which need not be there. Raises OSError."""
    path = os.path.realpath(path)
    if not os.path.exists(path):
        _make_mount_point(path, scratch, folder=os.path.isdir(source))
    _mount(source, path, "", _MS_BIND | _MS_REC)


def _make_mount_point(path: str, scratch: str, *, folder: bool) -> None:
    """Create a mount point, on an overlay of the nearest folder if the host lacks it."""
    above = os.path.dirname(path)
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    if above == "/":
        raise OSError(1, f"{path} is in no folder of this host")
    if above != "/tmp":
        _overlay(above, os.path.join(scratch, str(len(os.listdir(scratch)))))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if folder:
        os.makedirs(path, exist_ok=True)
    else:
        open(path, "a").close()


def _overlay(lower: str, copy: str) -> None:
    entries = list(os.scandir(lower))
    if len(entries) > MAX_ENTRIES:
        raise OSError(7, f"{lower} has more than {MAX_ENTRIES} entries")
    os.mkdir(copy, 0o755)
    _mount("tmpfs", copy, "tmpfs", 0)
    for item in entries:
        place = os.path.join(copy, item.name)
        if item.is_symlink():
            os.symlink(os.readlink(item.path), place)
            continue
        if item.is_dir():
            os.mkdir(place)
        else:
            open(place, "x").close()
        _mount(item.path, place, "", _MS_BIND | _MS_REC)
    _mount(copy, lower, "", _MS_BIND | _MS_REC)


def hand_over_binds(handle: int) -> None:
    """Let another process, which has the other end of the socket, answer this process's `bind`
    calls. Does nothing if the host does not allow that."""
    with socket.socket(fileno=handle) as end:
        machine = _MACHINES.get(platform.machine())
        if machine is None:
            return
        listener = _filter_call(*machine)
        if listener < 0:
            return
        end.sendmsg([b"b"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
        os.close(listener)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def _filter_call(seccomp: int, number: int, architecture: int) -> int:
    """Install a seccomp filter that reports calls of this number to a listener; return the
    listener's file descriptor, -1 if the kernel refuses."""
    steps = (
        (0x20, 0, 0, 4),  # load the architecture
        (0x15, 0, 3, architecture),
        (0x20, 0, 0, 0),  # load the number of the call
        (0x15, 0, 1, number),
        (0x06, 0, 0, 0x7FC00000),  # notify the listener
        (0x06, 0, 0, 0x7FFF0000),  # allow
    )
    code = b"".join(struct.pack("HBBI", *item) for item in steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(steps), ctypes.addressof(buffer))
    library = _library()
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return -1
    return int(library.syscall(seccomp, _SET_FILTER, _NEW_LISTENER, ctypes.byref(program)))


def main(arguments: list[str]) -> None:
    """Set up the namespace, then execute the program in place of this one."""
    at = arguments.index("--")
    options = [item for item in arguments[:at] if item.startswith("--")]
    scratch, *mounts = arguments[len(options) : at]
    program = arguments[at + 1 :]
    try:
        if "--plain" not in options:
            enter_namespace()
        for source, path in zip(mounts[::2], mounts[1::2], strict=True):
            bind(source, path, scratch)
        if not program:
            return
        for item in options:
            if item.startswith("--binds="):
                hand_over_binds(int(item.removeprefix("--binds=")))
        os.chdir(os.getcwd())
        os.execvp(program[0], program)
    except OSError as error:
        sys.stderr.write(f"cannot start {' '.join(program[:1])}: {error}\n")
        sys.exit(REFUSED_EXIT_CODE)


if __name__ == "__main__":
    main(sys.argv[1:])
