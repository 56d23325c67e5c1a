"""The image of kapy's managers: what its build is sent, and what it is built on."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def _instructions() -> list[list[str]]:
    lines = (ROOT / "Containerfile").read_text().splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def test_the_build_context_has_exactly_the_copied_files() -> None:
    copied = {
        source.rstrip("/")
        for words in _instructions()
        if words[0] == "COPY" and not words[1].startswith("--from")
        for source in words[1:-1]
    }
    patterns = (ROOT / ".dockerignore").read_text().splitlines()
    assert patterns[1] == "*"
    assert {pattern.removeprefix("!") for pattern in patterns if pattern.startswith("!")} == copied
    assert all((ROOT / text).exists() for text in copied)


def test_every_step_is_built_on_the_base_that_is_asked_for() -> None:
    instructions = _instructions()
    assert instructions[0][0] == "ARG"
    assert instructions[0][1].startswith("BASE=")
    assert {words[1] for words in instructions if words[0] == "FROM"} == {"${BASE}"}
