"""The objects in the values of a ConfigMap or a Secret."""

from __future__ import annotations

from base64 import b64encode

import pytest

from kapy.core.clusterresourceset.manifests import BadManifest, hash_of, objects_of, values_of
from kapy.kube import Document


def manifest(kind: str, name: str) -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"


def source(kind: str = "ConfigMap", **data: str) -> Document:
    return {"kind": kind, "metadata": {"name": "s", "namespace": "n"}, "data": data}


def found(**data: str) -> list[str]:
    values = values_of(source(**data))
    objects = objects_of(values, "ConfigMap n/s", secret=False)
    return [f"{obj['kind']}/{obj['metadata']['name']}" for obj in objects]


A, B = manifest("ConfigMap", "a"), manifest("ConfigMap", "b")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param({"k": A}, ["ConfigMap/a"], id="one document"),
        pytest.param({"k": f"{A}---\n{B}"}, ["ConfigMap/a", "ConfigMap/b"], id="several"),
        pytest.param({"k": f"---\n---\n{A}---\n# nothing\n"}, ["ConfigMap/a"], id="empty ones"),
        pytest.param({"k": ""}, [], id="nothing at all"),
        pytest.param(
            {"k": '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}'},
            ["Pod/p"],
            id="JSON",
        ),
        pytest.param(
            {
                "k": '\n [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}},'
                ' {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}]'
            },
            ["Namespace/n", "Pod/p"],
            id="a JSON list",
        ),
        pytest.param({"z": A, "y": B}, ["ConfigMap/b", "ConfigMap/a"], id="values by their names"),
        pytest.param(
            {"k": "---\n".join(manifest(k, "x") for k in ("Job", "Secret", "Namespace", "Role"))},
            ["Namespace/x", "Secret/x", "Job/x", "Role/x"],
            id="what others depend on goes first",
        ),
        pytest.param(
            {"a": manifest("Role", "x"), "b": manifest("Namespace", "x")},
            ["Role/x", "Namespace/x"],
            id="within one value only",
        ),
    ],
)
def test_values_hold_objects(data: dict[str, str], expected: list[str]) -> None:
    assert found(**data) == expected


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("a: [", "k: line 2"),
        ("just words", "k: document 1 is no object"),
        (f"- {{{A!r}: 1}}", "k: document 1 is no object"),
        (f"{A}---\nkind: X\nmetadata: {{name: a}}", "k: document 2 has no apiVersion"),
        ("apiVersion: v1\nmetadata: {name: a}", "k: document 1 has no kind"),
        ("apiVersion: v1\nkind: X", "k: document 1 has no metadata.name"),
        ("[1, 2]", "k: document 1 is no object"),
    ],
)
def test_values_that_hold_something_else_are_reported(value: str, problem: str) -> None:
    with pytest.raises(BadManifest, match=f"ConfigMap n/s: {problem}"):
        found(k=value)


def test_a_secret_is_decoded_and_never_quoted() -> None:
    encoded = b64encode(A.encode()).decode()
    assert values_of(source("Secret", k=encoded)) == {"k": A.encode()}
    for bad in ("%%%", b64encode(b"*hunter2").decode()):
        with pytest.raises(BadManifest) as error:
            objects_of(values_of(source("Secret", k=bad)), "Secret n/s", secret=True)
        assert "hunter2" not in str(error.value)


def test_a_source_without_data_is_reported() -> None:
    with pytest.raises(BadManifest, match="ConfigMap n/s has no data"):
        values_of({"kind": "ConfigMap", "metadata": {"name": "s", "namespace": "n"}})


def test_the_hash_is_of_all_values_in_the_order_of_their_names() -> None:
    entry, other = values_of(source(a="1", b="2")), values_of(source(b="2", a="1"))
    assert hash_of(entry) == hash_of(other)
    assert hash_of(entry) != hash_of(values_of(source(a="1", b="3")))
    # sha256 of "12", as `printf 12 | sha256sum` has it
    assert hash_of(entry) == (
        "sha256:6b51d431df5d7f141cbececcf79edf3dd861c3b4069f0b11661a3eefacbba918"
    )
