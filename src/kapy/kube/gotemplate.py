"""Go templates (`text/template`), with or without the functions of sprig.

    parsed("{{ .cluster.name }}-{{ .random }}").rendered({"cluster": {"name": "c"}, "random": "x"})

The language is gotpl's, which is imported when the first template is parsed. A parsed template is
kept, because parsing costs a hundred times what rendering does. Templates come from users: they see
the data that they are given and nothing else of the process, and what they may do is bounded.
Numbers among the data are for the caller to give as Go would see them (JSON's are floats there).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from kapy.kube.errors import KapyError

if TYPE_CHECKING:
    import gotpl

LARGEST: Final = 1 << 20
"""Characters that one rendered text may have."""

_MOST_STEPS: Final = 100_000
_DEEPEST: Final = 100


class BadTemplate(KapyError, ValueError):
    """The text is no template; the message says where and why, much as Go does."""


class CannotRender(KapyError, ValueError):
    """The template asks for what the data cannot give, or for too much."""


class Template:
    """A parsed template."""

    def __init__(self, template: gotpl.Template) -> None:
        self._template = template

    def rendered(self, data: Mapping[str, Any]) -> str:
        """The text that the template makes of `data`. Raises CannotRender."""
        from gotpl import TemplateError

        try:
            return self._template.render(data)
        except TemplateError as error:
            raise CannotRender(str(error)) from None


@lru_cache(maxsize=512)
def parsed(
    source: str, *, name: str = "template", sprig: bool = False, strict: bool = False
) -> Template:
    """The template that a text is. Raises BadTemplate.

    name: what errors call it. sprig: with sprig's functions that depend on nothing but their
    arguments. strict: a key that a map does not have is an error, not `<no value>`.
    """
    import gotpl

    try:
        return Template(
            gotpl.Template(
                source,
                name=name,
                functions=_sprig() if sprig else None,
                missing_key="error" if strict else "default",
                sandbox=_sandbox(sprig=sprig),
            )
        )
    except gotpl.TemplateSyntaxError as error:
        what = str(error).partition(f"{error.line}:{error.column}: ")[2]
        raise BadTemplate(f"template: {name}:{error.line}: {what}") from None
    except gotpl.TemplateError as error:
        raise BadTemplate(f"template: {name}: {error}") from None


@cache
def _sandbox(*, sprig: bool) -> gotpl.SandboxPolicy:
    """Without it, `{{ .name.upper }}` would call Python's method."""
    import gotpl

    return gotpl.SandboxPolicy.strict(
        allow_functions=_sprig() if sprig else (),
        max_template_chars=LARGEST,
        default_budget=gotpl.ExecutionBudget(
            max_output_chars=LARGEST,
            max_iterations=_MOST_STEPS,
            max_template_depth=_DEEPEST,
            max_function_calls=_MOST_STEPS,
        ),
    )


@cache
def _sprig() -> Mapping[str, Callable[..., object]]:
    from gotpl.funcs.sprig import hermetic_text_func_map

    functions = hermetic_text_func_map()
    return {**functions, **{name: _bounded(name, functions[name]) for name in _GROWING}}


_GROWING: Final = ("repeat", "until", "untilStep", "seq")
"""Functions that make much of little: their numbers say how much."""


def _bounded(name: str, function: Callable[..., object]) -> Callable[..., object]:
    def bounded(*arguments: Any) -> object:
        if any(isinstance(one, (int, float)) and abs(one) > _MOST_STEPS for one in arguments):
            raise ValueError(f"{name} of more than {_MOST_STEPS} is too much")
        return function(*arguments)

    return bounded
