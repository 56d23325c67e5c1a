"""The pages in `docs/contracts`, printed from the rules.

python -m tests.contract.rules.pages docs/contracts
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from kapy.contract.fields import Version, View, fields_of
from kapy.testing.conformance.rules import DOCUMENTS as ASKED
from kapy.testing.conformance.rules import Checked, Level
from kapy.testing.conformance.rules import Document as Asked
from tests.contract.rules import (
    bootstrap_config,
    clusterctl,
    control_plane,
    infra_cluster,
    infra_machine,
    infra_machine_pool,
)
from tests.contract.rules.rule import Document, Rule

DOCUMENTS: Final = (
    infra_cluster.DOCUMENT,
    infra_machine.DOCUMENT,
    control_plane.DOCUMENT,
    bootstrap_config.DOCUMENT,
    infra_machine_pool.DOCUMENT,
    clusterctl.DOCUMENT,
)
_INDEX: Final = """\
# Contracts

What core and providers may expect of each other, rule by rule: what the contract document says, in
our words; where kapy keeps it; and the tests that hold it. Both contract versions, v1beta1 and
v1beta2, hold at the same time, object by object: the labels of a CRD say which one its objects
keep. A provider that breaks a rule is named in a condition of whoever refers to its object.

**MUST** and **SHOULD** are asked of providers; **core** is what controllers promise them, and
**kapy** what the command does, as clusterctl.

The pages are printed from `tests/contract/rules` (`make reference`).

| contract | rules |
|---|---|
"""
_ASKED: Final = """
What is asked of providers is a table that programs use, too: [rule by rule](conformance.md), and
`kapy conformance check` judges [any provider](../reference/conformance-report.md) by it.

| document | rules | MUST | SHOULD | MAY | seen in files |
|---|---|---|---|---|---|
"""
_CONFORMANCE: Final = """\
# What providers are asked for

Every rule of the contract documents of v1.14, in our words, and who finds out whether a provider
keeps it: `static`, a look at the files of a release (`kapy conformance check`); `behaviour`, a look
at the provider while it runs; `author`, nobody else. Printed; see [the overview](README.md).
"""
_HEAD: Final = """\
# {title}

The rules of the {title} contract. Printed; see [the overview](README.md).
"""


def pages() -> dict[str, str]:
    """The text of every page by its file name, `README.md` among them."""
    found = {"README.md": _INDEX}
    for one in DOCUMENTS:
        found[f"{one.name}.md"] = "".join(_page(one))
        found["README.md"] += f"| [{one.title}]({one.name}.md) | {len(one.rules)} |\n"
    found["README.md"] += "".join([_ASKED, *map(_counts, ASKED)])
    found["conformance.md"] = "".join([_CONFORMANCE, *map(_asked, ASKED)])
    return found


def _counts(document: Asked) -> str:
    levels = [one.level.value for one in document.rules]
    static = sum(one.checked is Checked.STATIC for one in document.rules)
    told = [len(levels), *(levels.count(level.value) for level in Level), static]
    return f"| {document.title} | {' | '.join(map(str, told))} |\n"


def _asked(document: Asked) -> str:
    rows = [
        f"| [{one.id}]({one.address}) | {one.level.value} | {one.checked.value} | {one.says} | "
        f"{one.when} |\n"
        for one in document.rules
    ]
    head = "| rule | level | seen by | | where |\n|---|---|---|---|---|\n"
    return f"\n## {document.title}\n\n{head}{''.join(rows)}"


def _page(document: Document) -> Iterator[str]:
    yield _HEAD.format(title=document.title)
    if document.view is not None:
        yield from _fields(document.view)
    for section, rules in groupby(document.rules, key=lambda rule: rule.section):
        yield f"\n## {section}\n\n| | rule | kept in | held by |\n|---|---|---|---|\n"
        yield from map(_row, rules)


def _row(rule: Rule) -> str:
    kept, held = "<br>".join(map(_module, rule.kept)), "<br>".join(map(_test, rule.held))
    return f"| {rule.level} | {rule.says} | {kept} | {held} |\n"


def _module(path: str) -> str:
    return f"[{path}](../../src/kapy/{path})"


def _test(test: str) -> str:
    """A test by its name, which is a sentence."""
    path, _, name = test.partition("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../../tests/{path})"


def _fields(view: type[View]) -> Iterator[str]:
    yield "\n## Fields that core reads\n\n| v1beta2 | v1beta1, if elsewhere | |\n|---|---|---|\n"
    for field in fields_of(view).values():
        new, old = field.path(Version.V1BETA2), field.path(Version.V1BETA1)
        elsewhere = f"`{old}`" if old != new else ""
        yield f"| `{new}` | {elsewhere} | {'mandatory' if field.mandatory else ''} |\n"


def main(folder: Path) -> None:
    """Write the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
