"""One rule of a contract document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from kapy.contract.fields import Field, Level

_BOOK: Final = "https://cluster-api.sigs.k8s.io/developer/providers/contracts"


class CheckMethod(Enum):
    """The method by which compliance with a rule is checked."""

    STATIC = "static"
    """A check of the files of a release."""
    BEHAVIOUR = "behaviour"
    """A check of the running provider."""
    AUTHOR = "author"
    """A check that only the provider's author can make, and no program."""
    OURSELVES = "kapy"
    """A check in kapy's own tests: core keeps the rule, not the provider."""


class ResponsibleParty(Enum):
    """The party that must keep a rule."""

    PROVIDER = "provider"
    CORE = "core"
    COMMAND = "command"
    """The commands clusterctl and `kapy`."""


@dataclass(frozen=True)
class Rule:
    """One rule of a contract document.

    id: `document/name`. section: the heading in the document. says: the rule in kapy's words. when:
    the precondition on the provider; "" if the rule always applies. keeper: the responsible party.
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
    """A contract document and the rules in it.

    name: the page of the document; title: its title in reports. rules: requirements for providers;
    promises: guarantees that core or clusterctl give.
    """

    name: str
    title: str
    rules: Sequence[Rule]
    promises: Sequence[Rule] = ()


class Rows:
    """Builds the rules of one document: `rows.must("scope", "All resources: scope", "…")`."""

    def __init__(self, document: str) -> None:
        self._document = document

    def field(self, field: Field[Any]) -> Rule:
        """Return the rule that a contract field declares. Compliance is checked by the schema of
        the CRD.
        """
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
        """Return a rule that providers must follow."""
        return Rule(f"{self._document}/{name}", section, Level.MUST, by, says, when)

    def should(
        self,
        name: str,
        section: str,
        says: str,
        by: CheckMethod = CheckMethod.BEHAVIOUR,
        when: str = "",
    ) -> Rule:
        """Return a rule that providers should follow."""
        return Rule(f"{self._document}/{name}", section, Level.SHOULD, by, says, when)

    def may(
        self,
        name: str,
        section: str,
        says: str,
        by: CheckMethod = CheckMethod.BEHAVIOUR,
        when: str = "",
    ) -> Rule:
        """Return a rule about an optional behaviour that has a fixed form."""
        return Rule(f"{self._document}/{name}", section, Level.MAY, by, says, when)

    def core(self, name: str, section: str, says: str) -> Rule:
        """Return a guarantee that core gives."""
        return self._promise(name, section, says, ResponsibleParty.CORE)

    def command(self, name: str, section: str, says: str) -> Rule:
        """Return a guarantee that clusterctl gives."""
        return self._promise(name, section, says, ResponsibleParty.COMMAND)

    def _promise(self, name: str, section: str, says: str, keeper: ResponsibleParty) -> Rule:
        by = CheckMethod.OURSELVES
        id_ = f"{self._document}/{name}"
        return Rule(id_, section, Level.MUST, by, says, keeper=keeper)
