"""Go templates (`text/template`), with or without the functions of sprig.

    parsed("{{ .cluster.name }}-{{ .random }}").rendered({"cluster": {"name": "c"}, "random": "x"})

The language is gotpl's, which is imported when the first template is parsed. A parsed template is
kept, because parsing costs a hundred times what rendering does. Templates come from users: they see
the data that they are given and nothing else of the process, and what they may do is bounded.
Numbers among the data are for the caller to give as Go would see them (JSON's are floats there).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from kapy.kube.errors import KapyError
from kapy.kube.sprig import MOST_STEPS, changes_data, functions_in
from kapy.kube.sprig import functions as sprig_functions

if TYPE_CHECKING:
    import gotpl

LARGEST: Final = 1 << 20
"""Characters that one rendered text may have."""

_DEEPEST: Final = 100
_OF_VERSIONS: Final = ("Major", "Minor", "Patch", "Prerelease", "Metadata", "Original", "Compare")
"""What templates may ask the one thing for that is neither data nor a function: what `semver`
gives."""


class BadTemplate(KapyError, ValueError):
    """The text is no template; the message says where and why, much as Go does."""


class CannotRender(KapyError, ValueError):
    """The template asks for what the data cannot give, or for too much."""


class Template:
    """A parsed template."""

    def __init__(self, template: gotpl.Template, *, changes_data: bool) -> None:
        """changes_data: whether it may change what it is given, and so needs a copy."""
        self._template = template
        self._changes_data = changes_data

    def rendered(self, data: Mapping[str, Any]) -> str:
        """The text that the template makes of `data`. Raises CannotRender."""
        from gotpl import TemplateError

        try:
            return self._template.render(deepcopy(data) if self._changes_data else data)
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
                functions=functions_in(source) if sprig else None,
                missing_key="error" if strict else "default",
                sandbox=_sandbox(sprig=sprig),
            ),
            changes_data=sprig and changes_data(source),
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
        allow_attributes=_OF_VERSIONS,
        allow_methods=_OF_VERSIONS,
        allow_functions=sprig_functions() if sprig else (),
        max_template_chars=LARGEST,
        default_budget=gotpl.ExecutionBudget(
            max_output_chars=LARGEST,
            max_iterations=MOST_STEPS,
            max_template_depth=_DEEPEST,
            max_function_calls=MOST_STEPS,
        ),
    )
