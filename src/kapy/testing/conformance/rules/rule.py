"""One rule of a contract document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from kapy.contract.fields import Field
from kapy.contract.rule import Level

_BOOK: Final = "https://cluster-api.sigs.k8s.io/developer/providers/contracts"


class CheckMethod(Enum):
    """The method by which compliance with a rule is checked."""

    STATIC = "static"
    """A check of the files of a release."""
    BEHAVIOUR = "behaviour"
    """A check of the running provider."""
    AUTHOR = "author"
    """Only the author can check it, no program."""
    OURSELVES = "kapy"
    """kapy's own tests check it: core keeps the rule, not the provider."""


class ResponsibleParty(Enum):
    """The party that must keep a rule."""

    PROVIDER = "provider"
    CORE = "core"
    COMMAND = "command"
    """clusterctl, and `kapy` as such."""


@dataclass(frozen=True)
class Rule:
    """A row of the table.

    id: `document/name`. section: heading in the document. says: the rule in kapy's words. when: the
    precondition on the provider; "" if the rule always applies. keeper: the responsible party.
    """

    id: str
    section: str
    level: Level
    checked: CheckMethod
    says: str
    when: str = ""
    keeper: ResponsibleParty = ResponsibleParty.PROVIDER

    @property
    def document(self) -> str:
        """The page of the contract."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """The name of the rule within its document."""
        return self.id.partition("/")[2]

    @property
    def address(self) -> str:
        """The URL of the section."""
        anchor = re.sub(r"[^a-z0-9 _-]", "", self.section.lower()).replace(" ", "-")
        return f"{_BOOK}/{self.document}#{anchor}"


@dataclass(frozen=True)
class Document:
    """A contract document.

    name: its page; title: for people. rules: requirements for providers; promises: guarantees that
    core or clusterctl give.
    """

    name: str
    title: str
    rules: Sequence[Rule]
    promises: Sequence[Rule] = ()


class Rows:
    """Collects the rows of one document: `rows.must("scope", "All resources: scope", "…")`."""

    def __init__(self, document: str) -> None:
        self._document = document

    def field(self, field: Field[Any]) -> Rule:
        """Add the rule that a field of the contract declares, which schemas show."""
        rule = field.rule
        if rule is None:
            raise LookupError(f"{field.path()} has no rule")
        id_ = f"{self._document}/{rule.name}"
        return Rule(id_, rule.section, rule.level, CheckMethod.STATIC, field.says, rule.when)

    def must(
        self,
        name: str,
        section: str,
        says: str,
        by: CheckMethod = CheckMethod.BEHAVIOUR,
        when: str = "",
    ) -> Rule:
        """Add a requirement."""
        return Rule(f"{self._document}/{name}", section, Level.MUST, by, says, when)

    def should(
        self,
        name: str,
        section: str,
        says: str,
        by: CheckMethod = CheckMethod.BEHAVIOUR,
        when: str = "",
    ) -> Rule:
        """Add a recommendation."""
        return Rule(f"{self._document}/{name}", section, Level.SHOULD, by, says, when)

    def may(
        self,
        name: str,
        section: str,
        says: str,
        by: CheckMethod = CheckMethod.BEHAVIOUR,
        when: str = "",
    ) -> Rule:
        """Add an optional behaviour that has a fixed form."""
        return Rule(f"{self._document}/{name}", section, Level.MAY, by, says, when)

    def core(self, name: str, section: str, says: str) -> Rule:
        """Add a guarantee of core."""
        return self._promise(name, section, says, ResponsibleParty.CORE)

    def command(self, name: str, section: str, says: str) -> Rule:
        """Add a guarantee of clusterctl."""
        return self._promise(name, section, says, ResponsibleParty.COMMAND)

    def _promise(self, name: str, section: str, says: str, keeper: ResponsibleParty) -> Rule:
        by = CheckMethod.OURSELVES
        id_ = f"{self._document}/{name}"
        return Rule(id_, section, Level.MUST, by, says, keeper=keeper)
