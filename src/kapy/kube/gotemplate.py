"""Go templates (`text/template`), with or without the functions of sprig.

    template = parse("{{ .cluster.name }}-{{ .random }}")
    template.render({"cluster": {"name": "c"}, "random": "x"})

The language is gotpl's, which is imported when the first template is parsed. A parsed template is
kept, because parsing costs a hundred times what rendering does. Templates come from users: they see
the data that they are given and nothing else of the process, what they may do is bounded
(`template_work`), and what they make depends on nothing but their data (`sprig_volatile`).
Numbers among the data are for the caller to give as Go would see them (JSON's are floats there).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from kapy.kube.errors import KapyError
from kapy.kube.regexp import allowance
from kapy.kube.sprig import changes_data, functions_in, volatile_functions
from kapy.kube.template_work import QUICK, TooLong, Work, charge_to

if TYPE_CHECKING:
    from kapy.kube.gotemplate_engine import CountedTemplate

_MAX_ACTIONS: Final = 2_000
_MAX_ACTION_LENGTH: Final = 20_000
_MAX_LENGTH: Final = 1 << 20


class BadTemplate(KapyError, ValueError):
    """The text is not a valid template; the message has place and reason, much like Go's."""


class CannotRender(KapyError, ValueError):
    """Rendering failed: the data lacks a value, or the template exceeds a limit."""


class WorkExceeded(CannotRender):
    """The template exceeds the work limit of this rendering."""


class NotDeterministic(CannotRender):
    """The output of the template differs between renderings."""


class Template:
    """A parsed Go template."""

    def __init__(
        self, template: CountedTemplate, *, changes_data: bool, volatile: tuple[str, ...]
    ) -> None:
        """Wrap a parsed template of gotpl.

        changes_data: whether it may change its input, which is therefore copied. volatile:
        functions that it may call and that return a different value at each call.
        """
        self._template = template
        self._changes_data = changes_data
        self._volatile = volatile

    def render(self, data: Mapping[str, Any], *, work: Work | None = None) -> str:
        """Render the template with `data`. Raises CannotRender.

        work: the work limit and counter; the default is the limit for the event loop.
        """
        work = work or Work(QUICK)
        text = self._render(data, work)
        if self._volatile:
            work.world = 1
            if self._render(data, work) != text:
                raise NotDeterministic(
                    "its result differs each time it is rendered, because it depends on "
                    f"{' and '.join(self._volatile)}: a value that changes by itself would "
                    "replace machines for ever; make the value once and give it as a variable"
                )
            work.world = 0
        return text

    def _render(self, data: Mapping[str, Any], work: Work) -> str:
        from gotpl import TemplateError

        try:
            with charge_to(work), allowance():
                return self._template.render(deepcopy(data) if self._changes_data else data)
        except TooLong as error:
            raise WorkExceeded(str(error)) from None
        except TemplateError as error:
            if isinstance(error.__cause__, TooLong):
                raise WorkExceeded(str(error.__cause__)) from None
            raise CannotRender(str(error)) from None
        except RecursionError:
            raise CannotRender("its values are nested too deeply") from None


@lru_cache(maxsize=512)
def parse(
    source: str,
    *,
    name: str = "template",
    sprig: bool = False,
    strict: bool = False,
    functions: tuple[tuple[str, Callable[..., Any]], ...] = (),
) -> Template:
    """Parse a Go template. Raises BadTemplate.

    name: the template's name in errors. sprig: allow sprig's deterministic functions. strict: a
    missing map key is an error, not `<no value>`. functions: additional functions by name, which
    must be deterministic and fast.
    """
    import gotpl

    from kapy.kube.gotemplate_engine import template

    if _is_too_long(source):
        raise BadTemplate(
            f"template: {name}: it is too long (at most {_MAX_LENGTH} characters, and "
            f"{_MAX_ACTIONS} actions of {_MAX_ACTION_LENGTH} characters together)"
        )
    if _has_long_number(source):
        raise BadTemplate(f"template: {name}: a number has more than {_MAX_DIGITS} digits")
    by_name = functions_in(source) if sprig else {}
    try:
        return Template(
            template(source, {**by_name, **dict(functions)}, name=name, strict=strict),
            changes_data=sprig and changes_data(source),
            volatile=volatile_functions(by_name),
        )
    except gotpl.TemplateSyntaxError as error:
        what = str(error).partition(f"{error.line}:{error.column}: ")[2]
        raise BadTemplate(f"template: {name}:{error.line}: {what}") from None
    except (gotpl.TemplateError, ValueError, OverflowError) as error:
        raise BadTemplate(f"template: {name}: {error}") from None
    except RecursionError:
        raise BadTemplate(f"template: {name}: it nests too deeply") from None


_MAX_DIGITS: Final = 20
_TEXT_IN_ACTION: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|`[^`]*(?:`|\Z)', re.DOTALL)
_LONG_NUMBER: Final = re.compile(rf"[0-9_]{{{_MAX_DIGITS + 1}}}")


def _has_long_number(source: str) -> bool:
    """Report whether an action has a number so long that gotpl's pattern would hang.

    Each further digit doubles the time of the search.
    """
    if not _LONG_NUMBER.search(source):
        return False
    actions = (part.partition("}}")[0] for part in source.split("{{")[1:])
    return any(_LONG_NUMBER.search(_TEXT_IN_ACTION.sub("", action)) for action in actions)


def _is_too_long(source: str) -> bool:
    """Report whether the actions (the text in braces) would take too long to parse."""
    if len(source) <= _MAX_ACTIONS:
        return False
    actions = source.split("{{")[1:]
    inner = sum(len(action.partition("}}")[0]) for action in actions)
    return len(source) > _MAX_LENGTH or len(actions) > _MAX_ACTIONS or inner > _MAX_ACTION_LENGTH
