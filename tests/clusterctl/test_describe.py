"""The tree of a cluster, against what upstream's clusterctl printed for the same objects."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kapy.clusterctl.describe import (
    Node,
    Options,
    as_document,
    discover,
    table,
    waits,
    waits_table,
)
from kapy.clusterctl.describe.row import row_of
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from tests.clusterctl.recorded import RecordedSource, moments

DATA = Path(__file__).parents[1] / "data" / "clusterctl" / "describe.jsonl.gz"
RUNS: list[Document] = [
    json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()
]


def options(args: list[str]) -> Options:
    filters = args[args.index("--show-conditions") + 1] if "--show-conditions" in args else ""
    return Options(
        show_conditions=filters,
        show_machine_sets="--show-machinesets" in args,
        show_resource_sets="--show-resourcesets" in args,
        show_templates="--show-templates" in args,
        echo="--echo" in args,
        grouping="--grouping=false" not in args,
    )


async def tree_of(objects: list[Document], name: str, options: Options | None = None) -> Node:
    return await discover(RecordedSource(objects), Key("fleet", name), options or Options())


@pytest.mark.parametrize("run", RUNS, ids=lambda run: " ".join(run["args"][2:]))
async def test_the_tree_is_printed_as_clusterctl_prints_it(run: Document) -> None:
    objects = run["objects"]
    tree = await tree_of(objects, run["args"][2], options(run["args"]))
    printed = [table(tree, now=now).rstrip("\n") for now in moments(objects)]
    assert run["stdout"].rstrip("\n") in printed, printed[-1]


def does_not_fit(line: str, width: int) -> bool:
    """Whether a line is too long although it could be broken: a long word cannot."""
    words = line.strip(" │├└─").split()
    return len(line) > width and len(words) > 1


@pytest.mark.parametrize("width", [40, 60, 80, 100, 132, 200])
@pytest.mark.parametrize("run", RUNS, ids=lambda run: " ".join(run["args"][2:]))
async def test_on_a_terminal_the_tree_fits_and_no_message_loses_a_word(
    run: Document, width: int
) -> None:
    tree = await tree_of(run["objects"], run["args"][2], options(run["args"]))
    now = moments(run["objects"])[-1]
    printed = table(tree, now=now, width=width)
    below = waits_table(waits(tree), now, width=width)
    assert [line for line in (printed + below).splitlines() if does_not_fit(line, width)] == []
    messages = {word for node in tree.walk() for word in row_of(node, now).text.split()}
    assert messages - set(printed.split()) == set()
    reasons = {word for wait in waits(tree) for word in wait.why.split()}
    assert reasons - set(below.split()) == set()


async def test_messages_stand_below_their_rows_where_there_is_no_room() -> None:
    run = next(run for run in RUNS if run["args"][2:] == ["web", "-n", "fleet"])
    tree = await tree_of(run["objects"], "web")
    now = moments(run["objects"])[-1]
    assert "MESSAGE" not in table(tree, now=now, width=100).splitlines()[0]
    assert "MESSAGE" in table(tree, now=now, width=180).splitlines()[0]


async def test_an_unknown_cluster_is_not_found() -> None:
    with pytest.raises(NotFound, match=r'clusters\.cluster\.x-k8s\.io "nope" not found'):
        await tree_of([], "nope")


async def test_colours_do_not_change_the_layout() -> None:
    run = RUNS[-1]
    tree = await tree_of(run["objects"], run["args"][2])
    now = moments(run["objects"])[-1]
    colored = table(tree, now=now, color=True)
    assert "\x1b[32mTrue\x1b[0m" in colored
    plain = "".join(part.partition("m")[2] for part in f"m{colored}".split("\x1b["))
    assert plain == table(tree, now=now)


async def test_machines_of_one_state_are_one_row_with_a_count() -> None:
    run = next(run for run in reversed(RUNS) if run["args"][2] == "shop")
    document = as_document(await tree_of(run["objects"], "shop", Options(grouping=False)))
    grouped = as_document(await tree_of(run["objects"], "shop"))
    assert [child["kind"] for child in document["children"]] == [
        "DevCluster",
        "KubeadmControlPlane",
        "WorkerGroup",
    ]
    machines = document["children"][1]["children"]
    assert grouped["children"][1]["children"] == [
        {"kind": "Machine", "items": [machine["name"] for machine in machines], "ready": 3}
    ]
