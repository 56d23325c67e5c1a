"""The author's rules for paper machines: defaulting, validation, and an older version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import field

from kapy.api.embedded import TemplateMeta
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model
from kapy.kube.names import Resource
from kapy.sdk import KindRules, Rulebook
from kapy.sdk.conversion import Version
from kapy.sdk.field_errors import FieldError, forbidden, invalid
from tests.sdk.paper_cloud import GROUP


class SheetSpec(Model):
    sheets: int = 0
    colour: str = ""
    watermark: str = ""


class Sheet(Object):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v2", "sheets", "Sheet")

    spec: SheetSpec = field(default_factory=SheetSpec)


class PagesSpec(Model):
    pages: int = 0
    colour: str = ""


class Pages(Object):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "sheets", "Sheet")

    spec: PagesSpec = field(default_factory=PagesSpec)


class InnerTemplate(Model):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: SheetSpec = field(default_factory=SheetSpec)


class SheetTemplateSpec(Model):
    template: InnerTemplate = field(default_factory=InnerTemplate)


class SheetTemplate(Object):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v2", "sheettemplates", "SheetTemplate")

    spec: SheetTemplateSpec = field(default_factory=SheetTemplateSpec)


def with_colour(sheet: Sheet) -> Sheet:
    sheet.spec.colour = sheet.spec.colour or "white"
    return sheet


def sheet_problems(new: Sheet, old: Sheet | None) -> Iterator[FieldError]:
    if new.spec.colour == "octarine":
        raise LookupError("a mistake of the author, with a token in it")
    if new.spec.sheets < 1:
        yield invalid("spec.sheets", new.spec.sheets, "a machine has one sheet at least")
    if old is not None and old.spec.colour != new.spec.colour:
        yield forbidden("spec.colour", "paper keeps its colour")


def _renamed(document: Document, was: str, is_: str) -> Document:
    spec = document.get("spec") or {}
    if was in spec:
        spec[is_] = spec.pop(was)
    return document


def from_hub(document: Document) -> Document:
    """v1 calls the sheets pages, and knows no watermark."""
    document.get("spec", {}).pop("watermark", None)
    return _renamed(document, "sheets", "pages")


V1 = Version(
    to_hub=lambda document: _renamed(document, "pages", "sheets"), from_hub=from_hub, kind=Pages
)
SHEETS = KindRules(
    Sheet,
    template=SheetTemplate,
    defaults=with_colour,
    problems=sheet_problems,
    versions={"v1": V1},
)
RULES = Rulebook(SHEETS)
