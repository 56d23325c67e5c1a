"""Fields that hold a selector of labels."""

from __future__ import annotations

from kapy.api import embedded
from kapy.kube.field_errors import FieldError, Shown, invalid
from kapy.kube.model import encode
from kapy.kube.selectors import InvalidSelector, LabelSelector, selector_of


def parsed_selector(
    selector: embedded.LabelSelector, path: str
) -> tuple[LabelSelector | None, list[FieldError]]:
    """The selector, or None and what is wrong with it."""
    try:
        return selector_of(encode(selector)), []
    except InvalidSelector as error:
        return None, [invalid(path, shown(selector), str(error))]


def shown(selector: embedded.LabelSelector) -> Shown:
    """A selector as an error shows it."""
    return Shown.of(encode(selector))


def selector_errors(selector: embedded.LabelSelector | None, path: str) -> list[FieldError]:
    """What is wrong with a selector; nothing when there is none."""
    return [] if selector is None else parsed_selector(selector, path)[1]
