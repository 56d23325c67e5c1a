"""Commands that people type, and patterns of the answers."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from tests.e2e.shell import Shell


class Habit(NamedTuple):
    """A line of kubectl (without the word), and a pattern of its answer.

    refused: it must fail, and the pattern is found in what it complains about. text: its input.
    """

    line: str
    answer: str
    refused: bool = False
    text: str = ""


def no(line: str, answer: str, text: str = "") -> Habit:
    """A command that is refused."""
    return Habit(line, answer, refused=True, text=text)


def follow(person: Shell, *habits: Habit, at: str = "") -> None:
    """Type them one after the other. at: options of all lines (a kubeconfig, a namespace)."""
    for habit in habits:
        done = person.run("kubectl", *shlex.split(f"{at} {habit.line}"), text=habit.text)
        output = done.stderr if habit.refused else done.stdout
        message = f"kubectl {habit.line}\n{done.stdout}\n{done.stderr}"
        assert bool(done.returncode) == habit.refused, message
        assert re.search(habit.answer, output, re.MULTILINE), (
            f"/{habit.answer}/ is not in\n{message}"
        )
