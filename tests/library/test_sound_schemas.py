"""The schemas that planes accept without validation are valid, and no others are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kapy._aio.clock import system_clock
from kapy.api.crds import crds
from kapy.apiserver.resources.builtin import definition_schemas
from kapy.apiserver.resources.builtin.definition_schemas import (
    accept_sound_schemas,
    forget_sound_schemas,
    sound_schemas,
)
from kapy.apiserver.server import Server
from kapy.apps import sound_schemas as own
from kapy.apps.definitions import install_definitions
from kapy.client.client import Client
from kapy.kube import Document
from kapy.kube.errors import Invalid
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS
from kapy.kube.patch.merge_patch import apply
from kapy.kube.schema import validate_schema
from tests.library.sound_schemas import validate


@pytest.fixture(autouse=True)
def schemas_are_left_as_they_were() -> Iterator[None]:
    before = sound_schemas()
    forget_sound_schemas()
    yield
    forget_sound_schemas()
    accept_sound_schemas(before)


@pytest.fixture
def client() -> Iterator[Client]:
    server = Server.open(None, clock=system_clock)
    yield Client(server.transport(ADMIN))
    server.close()


@pytest.fixture
def validated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the schemas that were validated."""
    paths: list[str] = []

    def noting(schema: Document, path: str, **options: object) -> object:
        paths.append(path)
        return validate_schema(schema, path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(definition_schemas, "validate_schema", noting)
    return paths


async def test_the_file_has_the_schemas_that_a_server_finds_valid() -> None:
    assert own.FILE.read_text() == own.render(await validate()), "make reference"


async def test_a_plane_starts_without_validating_its_own_schemas(
    client: Client, validated: list[str]
) -> None:
    await install_definitions(client)
    assert len((await client.list(CRDS)).items) == len(crds())
    assert validated == []


async def test_another_schema_is_validated(client: Client, validated: list[str]) -> None:
    own.accept_own_schemas()
    crd, *_ = crds()
    version = crd["spec"]["versions"][0]
    schema = apply(version["schema"]["openAPIV3Schema"], {"properties": {"spec": {"type": "no"}}})
    changed = {**version, "schema": {"openAPIV3Schema": schema}}
    spec = {**crd["spec"], "versions": [changed, *crd["spec"]["versions"][1:]]}
    with pytest.raises(Invalid, match="no"):
        await client.create(CRDS, {**crd, "spec": spec})
    assert validated == ["spec.versions[0].schema.openAPIV3Schema"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="missing"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\x80\x04K\x01.", id="a pickle"),
        pytest.param(b'["0000"]', id="another form"),
        pytest.param(b'{"not hex": []}', id="no digest"),
        pytest.param(b'{"00": [1]}', id="no format"),
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
async def test_with_a_damaged_file_all_schemas_are_validated(
    client: Client,
    validated: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | None,
) -> None:
    file = tmp_path / "sound_schemas.json"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setattr(own, "FILE", file)
    own.accept_own_schemas()
    assert sound_schemas() == {}
    await client.create(CRDS, crds()[0])
    assert validated
