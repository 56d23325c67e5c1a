"""The type of options for a number of processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from kapy.kube.digits import parse_digits

if TYPE_CHECKING:
    from kapy.apps.settings import Processes

MOST_PROCESSES: Final = 64


class ProcessCount(click.ParamType["Processes"]):
    """A number of processes, or `auto`. least: the least number."""

    name = "auto|N"

    def __init__(self, least: int = 1) -> None:
        self._least = least

    def convert(self, value: Any, param: Any, ctx: Any) -> Processes:
        """Return the number of processes, or `auto`. Fails for any other value."""
        if value == "auto":
            return "auto"
        number = parse_digits(str(value))
        if number is not None and self._least <= number <= MOST_PROCESSES:
            return number
        return self.fail(
            f"{value!r} is neither auto nor a number from {self._least} to {MOST_PROCESSES}",
            param,
            ctx,
        )
