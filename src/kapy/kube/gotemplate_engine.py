"""The only module that uses gotpl's internals: templates whose work is counted.

gotpl limits output, loops and calls, but counts neither the instructions between them nor recursive
template calls. This module replaces its counter by one that charges all of it. Importing it imports
gotpl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from gotpl import ExecutionBudget, SandboxPolicy, Template
from gotpl.runtime.context import RenderSession
from gotpl.runtime.policy import ExecutionBudgetState
from gotpl.runtime.sync_vm import _builtin_functions

from kapy.kube.sprig_limits import limit_work
from kapy.kube.template_work import MAX_VALUE, TooLong, Work, current

_MAX_DEPTH: Final = 100
_PRINTING: Final = ("print", "printf", "println", "html", "js", "urlquery")
_ASKED: Final = (
    *("Major", "Minor", "Patch", "Prerelease", "Metadata", "Original", "Compare"),
    *("Cert", "Key"),
)
"""The attributes of versions and of certificates that templates may read."""


class _Counter(ExecutionBudgetState):
    """Charges gotpl's operations to the current work. body: the instructions of the whole
    template.
    """

    __slots__ = ("_body", "_work", "_written")

    def __init__(self, limits: ExecutionBudget, work: Work, body: int) -> None:
        super().__init__(limits)
        self._work = work
        self._body = body
        self._written = 0
        work.charge(body)

    def consume_output(self, amount: int) -> None:
        self._written += amount
        if self._written > MAX_VALUE:
            raise TooLong(f"it writes too much (more than {MAX_VALUE} characters)")
        self._work.charge(amount // 16)

    def consume_iteration(self) -> None:
        self._work.charge(self._body)

    def consume_function_call(self) -> None:
        self._work.charge(1)

    def check_template_depth(self, depth: int) -> None:
        super().check_template_depth(depth)
        self._work.charge(self._body)


class CountedTemplate(Template):
    """A gotpl template that charges its work to `template_work.current()`."""

    def _new_render_session(self) -> RenderSession:
        programs = {id(value): value for value in self._namespace.values()}.values()
        body = sum(len(program.instructions) for program in programs)
        assert self.budget is not None
        return RenderSession(self, _Counter(self.budget, current(), body))


def template(
    source: str, functions: Mapping[str, Callable[..., Any]], *, name: str, strict: bool
) -> CountedTemplate:
    """Parse a Go template, which then runs in gotpl's sandbox. Without the sandbox, `{{ .name.upper
    }}` would call a Python method.
    """
    all_functions = {**_printing(), **functions}
    return CountedTemplate(
        source,
        name=name,
        functions=all_functions,
        missing_key="error" if strict else "default",
        sandbox=SandboxPolicy.strict(
            allow_attributes=_ASKED,
            allow_methods=_ASKED,
            allow_functions=all_functions,
            max_template_chars=MAX_VALUE,
            default_budget=ExecutionBudget(max_template_depth=_MAX_DEPTH),
        ),
    )


def _printing() -> dict[str, Callable[..., Any]]:
    """Return the built-in functions that produce text, with limits."""
    builtin = _builtin_functions("go")
    return {name: limit_work(name, builtin[name]) for name in _PRINTING}
