"""Properties of every class with patches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kapy.kube import Document
from kapy.kube.patch.merge_patch import difference, is_equal_json
from kapy.topology.patches import CannotPatch, Cause
from kapy.topology.state import ClusterState
from tests.kube.patch.test_patch_laws import escaped
from tests.topology.managed import made, topology
from tests.topology.patches.patching import (
    INFRASTRUCTURE,
    MACHINES,
    PLANE,
    POOLS,
    Extensions,
    add,
    external,
    of_class,
    patch,
    result,
    values,
)

_FIELDS = st.sampled_from(["a", "b", "c~1d", "net"])
_VALUES = st.sampled_from([1, "s", True, [], ["i"], {}, {"x": 1}, {"x": {"y": "z"}}])
_SOURCES: st.SearchStrategy[Document] = st.sampled_from(
    [
        {"variable": "size"},
        {"variable": "builtin.cluster.name"},
        {"template": "{{ .size.cpu }}-{{ .builtin.cluster.name }}"},
        {"template": "{{ .size | toJson }}"},
    ]
)
_GOOD = st.one_of(
    st.builds(lambda field, value: add(f"spec/{field}", value), _FIELDS, _VALUES),
    st.builds(lambda field, source: add(f"spec/{field}", **source), _FIELDS, _SOURCES),
)
_PERHAPS = st.one_of(
    st.builds(
        lambda op, field: {"op": op, "path": f"/spec/template/spec/{field}", "value": 7},
        st.sampled_from(["remove", "replace"]),
        st.sampled_from(["a", "a/x", "a/x/y", "b/0"]),
    ),
    st.builds(lambda field: add(f"spec/{field}", 8), st.sampled_from(["a/x", "a/0", "b/-"])),
    st.just(add("spec/a", variable="builtin.machineDeployment.replicas")),
    st.just(add("spec/b", template="{{ fail .size.cpu }}")),
)
_CHANGES = st.integers(0, 9).flatmap(lambda drawn: _PERHAPS if drawn == 0 else _GOOD)
_PATCHES = st.lists(
    st.tuples(
        st.sampled_from([INFRASTRUCTURE, MACHINES, PLANE, POOLS]),
        st.lists(_CHANGES, min_size=1, max_size=3),
        st.sampled_from(["", "{{ .on }}", "{{ not .on }}"]),
    ),
    max_size=4,
)
_CLUSTER = topology(variables=values(size={"cpu": 2}, on=True))
_DEFINED = {"size": "inline", "on": "inline"}
_ON = {"": True, "{{ .on }}": True, "{{ not .on }}": False}


def _patches(drawn: list[Any]) -> list[Document]:
    return [
        patch(f"p{number}", selector, *changes, enabledIf=enabled)
        for number, (selector, changes, enabled) in enumerate(drawn)
    ]


def _objects(state: ClusterState) -> Iterator[Document]:
    md, mp = state.machine_deployments["md"], state.machine_pools["mp"]
    for document in (
        state.infrastructure_cluster,
        state.control_plane.object,
        state.control_plane.infrastructure_machine_template,
        *(md.bootstrap_template, md.infrastructure_machine_template),
        *(mp.bootstrap_object, mp.infrastructure_machine_pool_object),
    ):
        assert document is not None
        yield document


def _leaves(change: Any, path: str = "") -> Iterator[str]:
    if isinstance(change, dict) and change:
        for key, value in change.items():
            yield from _leaves(value, f"{path}/{escaped(key)}")
    else:
        yield path


@given(_PATCHES)
@settings(max_examples=60)
def test_all_is_changed_or_nothing_and_every_change_has_a_cause(drawn: list[Any]) -> None:
    async def check() -> None:
        state = await made(_CLUSTER)
        before = list(_objects(state))
        causes: list[Cause] = []
        klass = of_class(*_patches(drawn), variables=_DEFINED)
        try:
            await result(klass, _CLUSTER, causes=causes, state=state)
        except CannotPatch:
            assert all(a is b for a, b in zip(before, _objects(state), strict=True))
            assert causes == []
            return
        for was, now in zip(before, _objects(state), strict=True):
            removesuffixes = {
                cause.path.removesuffix("/-").removesuffix("/0")
                for cause in causes
                if (cause.kind, cause.name) == (now["kind"], now["metadata"]["name"])
            }
            for leaf in _leaves(difference(was, now)):
                assert not leaf or any(
                    f"{leaf}/".startswith(f"{text}/") for text in removesuffixes
                ), leaf

    asyncio.run(check())


@given(_PATCHES)
@settings(max_examples=40)
def test_an_extension_with_equal_patches_gives_the_same_result(drawn: list[Any]) -> None:
    """Patches whose values stand in them can be said by an extension as they are."""
    entries = [
        (selector, [change for change in changes if "valueFrom" not in change], enabled)
        for selector, changes, enabled in drawn
    ]
    patches = _patches([entry for entry in entries if entry[1] and _ON[entry[2]]])

    class Saying(Extensions):
        async def generate(self, extension: str, cluster: Any, request: Document) -> Document:
            (definition,) = patches[int(extension[1])]["definitions"]
            self._answer = lambda item: (
                definition["jsonPatches"]
                if item["object"]["kind"] == definition["selector"]["kind"]
                else None
            )
            return await super().generate(extension, cluster, request)

    async def outcome(*of: Document, hooks: Extensions | None = None) -> list[Document] | None:
        klass = of_class(*of, variables=_DEFINED)
        try:
            return list(_objects(await result(klass, _CLUSTER, hooks)))
        except CannotPatch:
            return None

    async def check() -> None:
        externals = [external(document["name"]) for document in patches]
        inline, answered = await outcome(*patches), await outcome(*externals, hooks=Saying())
        assert (inline is None) is (answered is None)
        assert is_equal_json(_specs(inline), _specs(answered))

    asyncio.run(check())


def _specs(objects: list[Document] | None) -> list[Any]:
    """Names of objects differ from one desired state to the next."""
    excluded = ("machineTemplate",)
    return [
        {key: value for key, value in obj["spec"].items() if key not in excluded}
        for obj in objects or ()
    ]
