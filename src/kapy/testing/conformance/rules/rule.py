"""One rule of a contract document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

_BOOK: Final = "https://cluster-api.sigs.k8s.io/developer/providers/contracts"


class Level(Enum):
    """How much a document asks for it, the most first."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Checked(Enum):
    """Who finds out whether a rule is kept."""

    STATIC = "static"
    """A look at the files of a release."""
    BEHAVIOUR = "behaviour"
    """A look at the provider while it runs."""
    AUTHOR = "author"
    """Nobody but the author: no program can tell."""
    OURSELVES = "kapy"
    """kapy's own tests: it is not a provider that keeps the rule."""


class Keeper(Enum):
    """Who keeps a rule."""

    PROVIDER = "provider"
    CORE = "core"
    COMMAND = "command"
    """clusterctl, and `kapy` as such."""


@dataclass(frozen=True)
class Rule:
    """A row.

    id: `document/name`. section: heading of the document. says: the rule in our words.
    when: what a provider must have or do for the rule to count; "" where it always counts.
    keeper: who has to keep it.
    """

    id: str
    section: str
    level: Level
    checked: Checked
    says: str
    when: str = ""
    keeper: Keeper = Keeper.PROVIDER

    @property
    def document(self) -> str:
        """The page of the contract."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """What it is called within its document."""
        return self.id.partition("/")[2]

    @property
    def address(self) -> str:
        """Where to read it."""
        anchor = re.sub(r"[^a-z0-9 _-]", "", self.section.lower()).replace(" ", "-")
        return f"{_BOOK}/{self.document}#{anchor}"


@dataclass(frozen=True)
class Document:
    """A contract document.

    name: its page; title: for people. rules: what it asks of providers; promises: what they may
    count on, which core or the command keeps.
    """

    name: str
    title: str
    rules: Sequence[Rule]
    promises: Sequence[Rule] = ()


class Rows:
    """Makes the rows of one document: `rows.must("scope", "All resources: scope", "…")`."""

    def __init__(self, document: str) -> None:
        self._document = document

    def must(
        self, name: str, section: str, says: str, by: Checked = Checked.BEHAVIOUR, when: str = ""
    ) -> Rule:
        """What has to be so."""
        return Rule(f"{self._document}/{name}", section, Level.MUST, by, says, when)

    def should(
        self, name: str, section: str, says: str, by: Checked = Checked.BEHAVIOUR, when: str = ""
    ) -> Rule:
        """What has to be so, unless there is a good reason."""
        return Rule(f"{self._document}/{name}", section, Level.SHOULD, by, says, when)

    def may(
        self, name: str, section: str, says: str, by: Checked = Checked.BEHAVIOUR, when: str = ""
    ) -> Rule:
        """What is free, but has a form."""
        return Rule(f"{self._document}/{name}", section, Level.MAY, by, says, when)

    def core(self, name: str, section: str, says: str) -> Rule:
        """What core promises providers."""
        return self._promise(name, section, says, Keeper.CORE)

    def command(self, name: str, section: str, says: str) -> Rule:
        """What the command promises providers."""
        return self._promise(name, section, says, Keeper.COMMAND)

    def _promise(self, name: str, section: str, says: str, keeper: Keeper) -> Rule:
        by = Checked.OURSELVES
        id_ = f"{self._document}/{name}"
        return Rule(id_, section, Level.MUST, by, says, keeper=keeper)
