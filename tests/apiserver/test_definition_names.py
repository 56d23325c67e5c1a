"""Tests of the names that a CRD is given beside others of its group, and of their release."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube import Document
from tests.apiserver.requester import CRDS, Asking, running


def definition(plural: str, kind: str, **names: Any) -> Document:
    """A definition of the group g.dev."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.g.dev"},
        "spec": {
            "group": "g.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }


async def status(me: Asking, plural: str) -> tuple[Document, dict[str, str]]:
    """The names that a definition has, and what its conditions say."""
    _, body = await me.ask("GET", f"{CRDS}/{plural}.g.dev")
    conditions = body["status"]["conditions"]
    messages = {
        condition["type"]: f"{condition['status']} {condition['reason']}: {condition['message']}"
        for condition in conditions
    }
    return body["status"]["acceptedNames"], messages


@pytest.mark.parametrize(
    ("names", "reason", "name"),
    [
        ({"plural": "bs", "kind": "B", "singular": "as"}, "SingularConflict", '"as"'),
        ({"plural": "bs", "kind": "B", "shortNames": ["aa"]}, "ShortNamesConflict", '"aa"'),
        ({"plural": "bs", "kind": "A", "listKind": "Bs"}, "KindConflict", '"A"'),
        ({"plural": "bs", "kind": "B", "listKind": "A"}, "ListKindConflict", '"A"'),
        # The last conflict is the one that is told.
        ({"plural": "bs", "kind": "A", "singular": "as"}, "ListKindConflict", '"AList"'),
    ],
)
async def test_a_name_in_use_is_refused(names: Any, reason: str, name: str) -> None:
    async with running() as me:
        await me.create(CRDS, definition("as", "A", shortNames=["aa"]))
        await me.create(CRDS, definition(**names))
        accepted, messages = await status(me, "bs")
        assert messages == {
            "NamesAccepted": f"False {reason}: {name} is already in use",
            "Established": "False NotAccepted: not all names are accepted",
        }
        assert accepted["plural"] == "bs"  # what was free is accepted all the same


async def test_short_names_are_accepted_together() -> None:
    async with running() as me:
        await me.create(CRDS, definition("as", "A", shortNames=["aa", "ab"]))
        await me.create(CRDS, definition("bs", "B", shortNames=["aa", "x", "ab"]))
        accepted, messages = await status(me, "bs")
        assert messages["NamesAccepted"] == (
            'False ShortNamesConflict: ["aa" is already in use, "ab" is already in use]'
        )
        assert "shortNames" not in accepted


async def test_an_established_definition_keeps_its_names() -> None:
    async with running() as me:
        await me.create(CRDS, definition("as", "A", shortNames=["aa"]))
        await me.create(CRDS, definition("bs", "B", shortNames=["bb"]))
        path = f"{CRDS}/bs.g.dev"
        await me.merge(path, {"spec": {"names": {"shortNames": ["aa"], "categories": ["all"]}}})
        accepted, messages = await status(me, "bs")
        assert (accepted["shortNames"], accepted["categories"]) == (["bb"], ["all"])
        assert messages["NamesAccepted"].startswith("False ShortNamesConflict")
        assert messages["Established"].startswith("True")
        assert (await me.ask("GET", "/apis/g.dev/v1/namespaces/default/bs"))[0] == 200


async def test_a_name_is_taken_when_it_is_free() -> None:
    async with running() as me:
        await me.create(CRDS, definition("as", "A", shortNames=["aa"]))
        await me.create(CRDS, definition("bs", "B", shortNames=["aa"]))
        await me.create(CRDS, definition("cs", "A"))
        await me.merge(f"{CRDS}/as.g.dev", {"spec": {"names": {"shortNames": ["ab"]}}})
        accepted, messages = await status(me, "bs")
        assert accepted["shortNames"] == ["aa"]
        assert messages["Established"] == (
            "True InitialNamesAccepted: the initial names have been accepted"
        )
        assert (await status(me, "cs"))[1]["NamesAccepted"].startswith("False ListKindConflict")
        await me.delete(f"{CRDS}/as.g.dev")
        assert (await status(me, "cs"))[1]["NamesAccepted"] == (
            "True NoConflicts: no conflicts found"
        )
        assert (await me.ask("GET", "/apis/g.dev/v1/namespaces/default/cs"))[0] == 200


async def test_only_one_definition_gets_a_free_name() -> None:
    async with running() as me:
        for plural in ("as", "bs", "cs"):
            await me.create(CRDS, definition(plural, plural.upper(), shortNames=["x"]))
        await me.delete(f"{CRDS}/as.g.dev")
        accepted = [(await status(me, plural))[0].get("shortNames") for plural in ("bs", "cs")]
        assert accepted == [["x"], None]
