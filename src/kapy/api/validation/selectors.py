"""Fields that hold a selector of labels."""

from __future__ import annotations

from kapy.api import embedded
from kapy.kube.field_errors import FieldError, FixedText, invalid
from kapy.kube.model import encode
from kapy.kube.selectors import InvalidSelector, LabelSelector, selector_of


def parse_selector(
    selector: embedded.LabelSelector, path: str
) -> tuple[LabelSelector | None, list[FieldError]]:
    """Parse a selector; return None and its errors if it is invalid."""
    try:
        return selector_of(encode(selector)), []
    except InvalidSelector as error:
        return None, [invalid(path, format_selector(selector), str(error))]


def format_selector(selector: embedded.LabelSelector) -> FixedText:
    """Format a selector for an error."""
    return FixedText.of(encode(selector))


def selector_errors(selector: embedded.LabelSelector | None, path: str) -> list[FieldError]:
    """Return the errors of a selector; none if there is no selector."""
    return [] if selector is None else parse_selector(selector, path)[1]
