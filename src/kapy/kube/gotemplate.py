"""Go templates (`text/template`), with or without the functions of sprig.

    parsed("{{ .cluster.name }}-{{ .random }}").rendered({"cluster": {"name": "c"}, "random": "x"})

The language is gotpl's; it is imported when the first template is parsed, and a parsed template is
kept: parsing costs a hundred times what rendering does. Numbers among the data are for the caller
to give as Go would see them (JSON numbers are floats there).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from kapy.kube.errors import KapyError

if TYPE_CHECKING:
    import gotpl


class BadTemplate(KapyError, ValueError):
    """The text is no template; the message says where and why, much as Go does."""


class CannotRender(KapyError, ValueError):
    """The template asks for what the data cannot give."""


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
            )
        )
    except gotpl.TemplateError as error:
        raise BadTemplate(str(error)) from None


@cache
def _sprig() -> Mapping[str, Callable[..., object]]:
    from gotpl.funcs.sprig import hermetic_text_func_map

    return hermetic_text_func_map()
