"""Reads a program's flags, and gives it other ports and paths by arguments. Pure.

Go's `flag` and `pflag`, and Python's `argparse` and click, print flags with their defaults for
`--help`. Flags of ports and bind addresses are recognized by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kapy.kube.digits import parse_integer

_FLAG: Final = re.compile(r"^\s*(?:-\w,\s+)?(--?)([a-zA-Z][\w.-]+)(?:[ =]+(\S+))?", re.MULTILINE)
_DEFAULT: Final = re.compile(r"[(\[]default:?\s+\"?([^\")\]]*)\"?[)\]]")  # lines may be wrapped
_PORT_FLAG: Final = re.compile(
    r"(?=.*(webhook|health|probe|metrics|diagnostics|profil|pprof|serving|secure))"
    r".*(port|addr|address)$"
)
_ADDRESS: Final = re.compile(r"(?P<host>[^\s:/]*|\[[0-9a-fA-F:]*\]):(?P<port>[0-9]{1,5})")
_NUMBER: Final = re.compile(r"[0-9]{1,5}")
LOOPBACK: Final = "127.0.0.1"

FreePort = Callable[[int], int]
"""A free port in place of a port that a program would listen on."""


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of a program, with their defaults ("" if it has none, or it is unknown)."""

    defaults: Mapping[str, str] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.defaults


def flags_of(help_text: str) -> Flags:
    """Return the flags in a program's help text."""
    result: dict[str, str] = {}
    starts = list(_FLAG.finditer(help_text))
    for number, item in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(help_text)
        default = _DEFAULT.search(help_text, item.end(2), end)
        result.setdefault(item[2], default[1] if default is not None else "")
    return Flags(result)


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a program. ports: its actual ports by those of its release."""

    values: Sequence[str]
    ports: Mapping[int, int]


def with_free_ports(arguments: Sequence[str], flags: Flags, free: FreePort) -> Arguments:
    """Arguments that make a program listen on its own ports, on the loopback address if it has a
    flag for that."""
    ports: dict[int, int] = {}

    def move_port(port: int) -> int:
        if port not in ports:
            ports[port] = free(port)
        return ports[port]

    rewritten, names = _move_arguments(list(arguments), move_port)
    for name, default in flags.defaults.items():
        if name not in names and _PORT_FLAG.fullmatch(name):
            value = _move_value(default, move_port)
            if value is not None:
                rewritten.append(f"--{name}={value}")
    return Arguments(rewritten, ports)


def _move_arguments(
    arguments: Sequence[str], new_port: Callable[[int], int]
) -> tuple[list[str], set[str]]:
    rewritten: list[str] = []
    names: set[str] = set()
    awaited = False
    for item in arguments:
        name, equals, value = item.partition("=")
        bare = name.lstrip("-")
        if awaited:
            rewritten.append(_move_value(item, new_port) or item)
            awaited = False
        elif name.startswith("-") and _PORT_FLAG.fullmatch(bare):
            names.add(bare)
            awaited = not equals
            rewritten.append(f"{name}={_move_value(value, new_port) or value}" if equals else item)
        else:
            names.add(bare if name.startswith("-") else "")
            rewritten.append(item)
    return rewritten, names


def _move_value(value: str, new_port: Callable[[int], int]) -> str | None:
    """Return a port or bind address with another port; None if the value is neither, or disables
    it.
    """
    if _NUMBER.fullmatch(value):
        port = parse_integer(value)
        return str(new_port(port)) if 0 < port < 65536 else None
    match = _ADDRESS.fullmatch(value)
    port = 0 if match is None else parse_integer(match["port"])
    return f"{LOOPBACK}:{new_port(port)}" if 0 < port < 65536 else None


def without_leader_election(arguments: Sequence[str]) -> list[str]:
    """Arguments without leader election: the program is alone, and could not find its namespace."""
    return [
        "--leader-elect=false" if item in ("--leader-elect", "--leader-elect=true") else item
        for item in arguments
    ]


def with_paths(arguments: Sequence[str], paths: Mapping[str, str]) -> list[str]:
    """Return the arguments with mount paths replaced by paths of the host."""
    return [_with_paths(item, paths) for item in arguments]


def _with_paths(text: str, paths: Mapping[str, str]) -> str:
    head, equals, value = text.partition("=") if text.startswith("-") else ("", "", text)
    for path, real in sorted(paths.items(), key=lambda item: -len(item[0])):
        if value == path or value.startswith(path.rstrip("/") + "/"):
            return f"{head}{equals}{real}{value[len(path.rstrip('/')) :]}"
    return text
