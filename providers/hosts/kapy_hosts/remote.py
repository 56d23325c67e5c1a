"""The operations on a host over a shell: collect facts, claim, boot, release. Each may be repeated."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from kapy_hosts.checks import Observed, observed
from kapy_hosts.shell import BROKEN, HostFailure, Output, Shell

_SECRETS: Final = re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b|\b[0-9a-f]{64}\b")
_HELD: Final = 91
_RELEASE_SECONDS: Final = 420.0
_UPLOAD_SECONDS: Final = 120.0


class HeldByAnother(HostFailure):
    """Another machine has the host."""

    def __init__(self, owner: str) -> None:
        super().__init__("HeldByAnother", f"the host is held by {owner}")


class Progress(NamedTuple):
    """The progress of a boot. state: absent, running, stopped, failed or finished. step: the name of
    the step. code: its exit code or `interrupted`. lines: the last lines that it wrote.
    """

    state: str
    step: str = ""
    code: str = ""
    lines: str = ""


@cache
def script(name: str) -> str:
    """Return the text of a script, or of another file beside the scripts."""
    file = name if "." in name else f"{name}.sh"
    return (files(__package__) / "scripts" / file).read_text(encoding="utf-8")


async def look(shell: Shell) -> Observed:
    """Return the facts about a host, such as its software and its claim."""
    return observed(_check_output(await shell.run(script("facts")), "facts").stdout)


async def claim(shell: Shell, uid: str, plane: str, owner: str) -> None:
    """Store a claim on the host. Raises HeldByAnother if the host has another claim."""
    output = _check_output(await shell.run(script("claim"), uid, plane, owner), "claim")
    words = output.stdout.split()
    if not words or words[0] != uid:
        raise HeldByAnother(describe_claim(words))


def describe_claim(words: list[str]) -> str:
    """Describe the claim that a host stores, for messages."""
    uid, plane, owner = [*words, "", "", ""][:3]
    return f"{owner or 'a machine'} (claim {uid or 'unknown'}, management cluster {plane})"


async def unclaim(shell: Shell, uid: str) -> None:
    """Give back a host with which nothing was done."""
    _check_output(await shell.run(script("unclaim"), uid), "unclaim")


async def start_boot(shell: Shell, uid: str, archive: bytes) -> None:
    """Begin to carry out the steps, or go on after a restart of the host."""
    output = await shell.run(script("boot"), uid, stdin=archive, seconds=_UPLOAD_SECONDS)
    _check_output(output, "boot")


async def progress(shell: Shell, uid: str) -> Progress:
    """Return the progress of a boot."""
    output = _check_output(await shell.run(script("progress"), uid), "progress")
    first, _, lines = output.stdout.partition("\n")
    state, step, code = [*first.split(), "", "", ""][:3]
    return Progress(state, step, code, without_secrets(lines))


def without_secrets(text: str) -> str:
    """Remove bootstrap tokens, certificate keys and hashes: kubeadm prints them."""
    return _SECRETS.sub("…", text)


async def release(shell: Shell, uid: str) -> list[str]:
    """Undo all changes that were made for a claim; return the remnants, none if the host is clean."""
    output = await shell.run(script("release"), uid, seconds=_RELEASE_SECONDS)
    if output.code == _HELD:
        raise HeldByAnother(output.stdout.strip().removeprefix("held by "))
    lines = _check_output(output, "release").stdout.split("\n")
    remnants = [line.strip() for line in lines if line.strip()]
    if remnants == ["clean"]:
        return []
    return remnants or ["the script said nothing"]


async def forget(shell: Shell) -> None:
    """Drop the claim that the host stores, without cleaning."""
    _check_output(await shell.run(script("forget")), "forget")


async def serve_haproxy(shell: Shell, uid: str, config: str) -> None:
    """Configure and start haproxy on the host."""
    output = await shell.run(script("haproxy"), uid, stdin=config.encode(), seconds=60)
    _check_output(output, "haproxy")


def _check_output(output: Output, name: str) -> Output:
    if output.code == 0:
        return output
    if output.code == _HELD:
        raise HeldByAnother("another claim")
    said = without_secrets(output.last_lines) or "it wrote nothing"
    raise HostFailure(BROKEN, f"the script {name} ended with {output.code}: {said}")
