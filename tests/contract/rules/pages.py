"""The pages in `docs/contracts`, printed from the rules.

python -m tests.contract.rules.pages docs/contracts
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from kapy.contract.fields import Version, View, fields_of
from kapy.testing.conformance.rules import (
    DOCUMENTS,
    CheckMethod,
    Document,
    Level,
    ResponsibleParty,
    Rule,
)
from tests.contract.breaks.catalogue import BREAKS
from tests.contract.breaks.kit import cases
from tests.contract.rules import (
    bootstrap_config,
    clusterctl,
    control_plane,
    infra_cluster,
    infra_machine,
    infra_machine_pool,
    ipam,
)
from tests.contract.rules.row import Kept, Row

KEPT: Final = (
    infra_cluster.KEPT,
    infra_machine.KEPT,
    infra_machine_pool.KEPT,
    bootstrap_config.KEPT,
    control_plane.KEPT,
    clusterctl.KEPT,
    ipam.KEPT,
)
_INDEX: Final = """\
# Contracts

Core and providers rely on the rules of v1.14's seven contract documents. These pages list every
rule in our words, with the side that has to keep it, the command that checks it, the place where
kapy keeps it, and its tests. Both contract versions, v1beta1 and v1beta2, hold at the same time,
object by object: the labels of a CRD say which one its objects keep.

Rules have names, as `infra-machine/provider-id`, which is what [`kapy
conformance`](../how-to/check-a-provider.md) calls them, too. **MUST**, **SHOULD** and **MAY** are
asked of providers; **core** is what controllers promise them, and **command** what clusterctl, and
so `kapy`, does. Whether a provider keeps a rule is seen in its *files* (`kapy conformance check`)
or in its *behaviour* (`kapy conformance run`), or by nobody but its *author*.

The table is `kapy.testing.conformance.rules`; `tests/contract/rules` adds where kapy keeps its
rules, and `make reference` prints both.

Each rule names a test that fails when the rule is broken, and that is tried: `make rules`, which
CI runs, breaks each promise in a copy of the source, and has providers break each of their rules
while the conformance kit does not look (`tests/contract/breaks`; the normal suite tries a tenth).
Rules that only an author can keep are broken in kapy's own providers.

The table has no row for the sections "Clusterctl support" of the documents: they refer to the
document clusterctl, whose rules are in the table. The section "Clusterctl Move" of IPAM asks for a
label `cluster.x-k8s.io/cluster-name` of pools; `clusterctl move` of v1.14 does not read it, and
takes pools along by labels of their CRD, so that is the rule here.

| document | rules | MUST | SHOULD | MAY | seen in files | in behaviour | by the author | promises |
|---|---|---|---|---|---|---|---|---|
"""
_HEAD: Final = """\
# {title}

The rules of {document}. Printed; see [the overview](README.md).
"""
_COLUMNS: Final = """\
| rule | | seen in | | kept in | fails when it is broken | held by, too |
|---|---|---|---|---|---|---|
"""
_SEEN: Final = {
    CheckMethod.STATIC: "files",
    CheckMethod.BEHAVIOUR: "behaviour",
    CheckMethod.AUTHOR: "author",
    CheckMethod.OURSELVES: "",
}


def pages() -> dict[str, str]:
    """The text of every page by its file name, `README.md` among them."""
    results = {f"{item.document.name}.md": "".join(_page(item)) for item in KEPT}
    results["README.md"] = "".join([_INDEX, *map(_counts, DOCUMENTS), _total()])
    return results


def _counts(document: Document) -> str:
    message = " | ".join(map(str, _numbers([document])))
    return f"| [{document.title}]({document.name}.md) | {message} |\n"


def _total() -> str:
    return f"| all | {' | '.join(map(str, _numbers(DOCUMENTS)))} |\n"


def _numbers(documents: Iterable[Document]) -> list[int]:
    """How many rules there are, by level and by who sees it; how many promises."""
    documents = list(documents)
    rules = [rule for document in documents for rule in document.rules]
    levels = [sum(rule.level is level for rule in rules) for level in Level]
    by_method = [sum(rule.checked is by for rule in rules) for by in list(CheckMethod)[:3]]
    return [len(rules), *levels, *by_method, sum(len(document.promises) for document in documents)]


def _page(table: Kept) -> Iterator[str]:
    name, title = table.document.name, table.document.title
    yield _HEAD.format(title=title, document=f"`{name}.md`")
    if table.view is not None:
        yield from _fields(table.view)
    for section, rules in _sections(table.document).items():
        yield f"\n## {section}\n\n{_COLUMNS}"
        for rule in rules:
            yield _row(rule, [row for row in table.rows if _names(row, rule)])


def _sections(document: Document) -> dict[str, list[Rule]]:
    """Rules and promises by their section, in the order of the document."""
    by_section: dict[str, list[Rule]] = {}
    for rule in (*document.rules, *document.promises):
        by_section.setdefault(rule.section, []).append(rule)
    return by_section


def _names(row: Row, rule: Rule) -> bool:
    return rule.name in row.names


def _row(rule: Rule, rows: list[Row]) -> str:
    level = rule.level.value if rule.keeper is ResponsibleParty.PROVIDER else rule.keeper.value
    says = f"{rule.says} *Where {rule.when}.*" if rule.when else rule.says
    modules = "<br>".join(map(_module, _once(text for row in rows for text in row.kept)))
    entries = list(_shown(rule))
    held = _once(text for row in rows for text in row.held if text not in entries)
    tests = [_test(text) for text in entries], [_test(text) for text in held]
    cells = [level, _SEEN[rule.checked], says, modules, *map("<br>".join, tests)]
    return f"| [{rule.name}]({rule.address}) | {' | '.join(cells)} |\n"


def _shown(rule: Rule) -> Iterator[str]:
    """The tests that are known to fail when the rule is broken."""
    yield from _once(
        test for entry in BREAKS for test, rules in entry.shown.items() if rule.id in rules
    )
    if rule.id in cases():
        yield cases()[rule.id].test


def _once(values: Iterable[str]) -> Iterable[str]:
    """Each of them, in the order in which they come."""
    return dict.fromkeys(values)


def _module(path: str) -> str:
    return f"[{path}](../../src/kapy/{path})"


def _test(test: str) -> str:
    """A test by its name, which is a sentence."""
    path, _, name = test.partition("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../../tests/{path})"


def _fields(view: type[View]) -> Iterator[str]:
    yield "\n## Fields that core reads\n\n"
    yield "| v1beta2 | v1beta1, if elsewhere | | rule |\n|---|---|---|---|\n"
    for field in fields_of(view).values():
        new, old = field.path(Version.V1BETA2), field.path(Version.V1BETA1)
        elsewhere = f"`{old}`" if old != new else ""
        rule = field.rule.name if field.rule is not None else ""
        yield f"| `{new}` | {elsewhere} | {'mandatory' if field.mandatory else ''} | {rule} |\n"


def main(folder: Path) -> None:
    """Write the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
