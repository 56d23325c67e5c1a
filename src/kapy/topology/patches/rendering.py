"""Renders the Go templates of patches, `valueFrom.template` and `enabledIf`, within limits.

The rendered text is read as YAML (the first document, if there are several) and converted as Go's
JSON would: a number without a fraction is an integer.

Nearly all templates take microseconds and are rendered on the event loop. A template that exceeds
the event loop's limit is rendered by a thread, and so are those after it until the loop had its
turn. The total work for one cluster is bounded, too.
"""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol, TypeAlias

from kapy.kube import Document, yaml
from kapy.kube.go_literals import fit_integers, map_numbers, to_double
from kapy.kube.gotemplate import BadTemplate, CannotRender, WorkExceeded, parse
from kapy.kube.template_work import FULL, QUICK, TooLong, Work
from kapy.topology.patches.errors import NoValue

_NAME: Final = "tpl"
_SMALLEST: Final = -(1 << 63)
_TOO_LARGE: Final = 1 << 64

ALL: Final = 10 * FULL
"""The maximum number of steps for all templates of one cluster in one reconcile."""


def render_value(template: str, data: Document, *, work: Work | None = None) -> Any:
    """Return the value of a template. data: the variables in the form of `template_data`.

    work: the limit of work; by default the event loop's limit. Reading the YAML counts. Raises
    WorkExceeded if `work` is used up, and NoValue, which does not quote the rendered text because
    variables may be secrets.
    """
    work = work or Work(QUICK)
    try:
        text = parse(template, name=_NAME, sprig=True).render(data, work=work)
        work.charge(len(text))
    except TooLong as error:
        raise WorkExceeded(str(error)) from None
    except WorkExceeded:
        raise
    except (BadTemplate, CannotRender) as error:
        raise NoValue(f'template "{template}" cannot be rendered: {error}') from None
    try:
        return map_numbers(yaml.load_first(text), _number)
    except (yaml.YamlError, ValueError) as error:
        raise NoValue(f'what template "{template}" makes is no YAML: {error}') from None


def template_data(variables: Document) -> Document:
    """Variables as templates see them: every number is a float, as in Go's JSON."""
    numbers: Document = map_numbers(variables, float)
    return numbers


def _number(value: float) -> float:
    if isinstance(value, int):
        return value if _SMALLEST <= value < _TOO_LARGE else to_double(value)
    if not math.isfinite(value):
        raise ValueError(f"JSON has no number {value}")
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


@dataclass(frozen=True, slots=True)
class RenderedValue:
    """The value of a rendered template."""

    value: Any


@dataclass(frozen=True, slots=True)
class RenderFailure:
    """The reason why a value template of a patch could not be rendered."""

    reason: str


Outcome: TypeAlias = RenderedValue | RenderFailure


class _Variables(Protocol):
    @property
    def data(self) -> Document: ...

    def keep(self, template: str, outcome: Outcome, *, long: bool = False) -> None: ...


class LongTemplate(Exception):
    """A template must be rendered outside the event loop: await `render`, then ask again."""

    def __init__(self, rendering: Rendering, template: str, variables: _Variables) -> None:
        super().__init__(template)
        self._rendering = rendering
        self._template = template
        self._variables = variables

    async def render(self) -> None:
        """Render the template, and store the outcome with the variables."""
        loop = asyncio.get_running_loop()
        outcome = await loop.run_in_executor(
            _thread(), self._rendering.full_outcome, self._template, self._variables
        )
        self._variables.keep(self._template, outcome, long=True)


class Rendering:
    """Renders templates for one reconcile of a cluster."""

    def __init__(self) -> None:
        self._turn = QUICK
        self._left = ALL

    def outcome(self, template: str, variables: _Variables) -> Outcome:
        """Return the outcome of a template. Raises LongTemplate if it takes too long for the event
        loop.
        """
        work = Work(self._turn)
        try:
            outcome = _outcome(template, variables.data, work)
        except WorkExceeded:
            raise LongTemplate(self, template, variables) from None
        finally:
            self._turn = max(0, self._turn - work.spent)
        variables.keep(template, outcome)
        return outcome

    def full_outcome(self, template: str, variables: _Variables) -> Outcome:
        """Return the outcome of a template that may take longer, as it is rendered in a thread."""
        work = Work(min(FULL, self._left))
        try:
            return _outcome(template, variables.data, work)
        except WorkExceeded as error:
            if work.most < FULL:
                reason = "the templates of this cluster take too long together"
                return RenderFailure(f'template "{template}" cannot be rendered: {reason}')
            return RenderFailure(f'template "{template}" cannot be rendered: {error}')
        finally:
            self._left = max(0, self._left - work.spent)

    async def pause(self) -> None:
        """Yield to the event loop if half of this turn is used up."""
        if self._turn < QUICK // 2:
            await asyncio.sleep(0)
            self._turn = QUICK


def _outcome(template: str, data: Document, work: Work) -> Outcome:
    """Render a template; return its value, or the reason for which it has none. Raises
    WorkExceeded.
    """
    try:
        return RenderedValue(fit_integers(render_value(template, data, work=work)))
    except NoValue as error:
        return RenderFailure(str(error))


@cache
def _thread() -> ThreadPoolExecutor:
    """Return one thread for all clusters: more would only take CPU time from the event loop."""
    return ThreadPoolExecutor(1, thread_name_prefix="templates")
