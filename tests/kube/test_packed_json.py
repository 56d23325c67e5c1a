"""A packed document is the same document, whatever it holds."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapy.kube import packed_json
from kapy.kube.packed_json import (
    LARGEST,
    SMALLEST,
    Packer,
    pack_document,
    unpack,
    unpack_document,
)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.sampled_from(["Machine", "Secret", "", "Cluster"]), st.dictionaries(st.text(), values))
def test_unpacking_returns_the_document(kind: str, spec: dict[str, Any]) -> None:
    document = {"kind": kind, "metadata": {"name": "a" * SMALLEST}, "spec": spec, "data": spec}
    document = msgspec.json.decode(msgspec.json.encode(document))  # infinity is null in JSON
    packed = pack_document(document, Packer())
    assert packed is not None
    assert unpack_document(packed) == document


def machine(number: int) -> bytes:
    conditions = [
        {"type": f"Condition{item}", "reason": sha256(b"%d" % item).hexdigest()}
        for item in range(40)
    ]
    metadata = {"name": f"machine-{number}", "uid": f"{number:032x}"}
    return msgspec.json.encode(
        {"kind": "Packed", "metadata": metadata, "status": {"conditions": conditions}}
    )


def test_objects_of_a_kind_are_packed_to_what_differs() -> None:
    packer = Packer()
    sizes = [len(packer.pack(machine(number))) for number in range(10)]
    assert max(sizes[1:]) < len(machine(0)) / 10


def test_an_odd_first_object_does_not_spoil_the_others() -> None:
    packer = Packer()
    packer.pack(b'{"kind":"Oddly","spec":"%s"}' % (b"0123456789abcdef" * SMALLEST))
    oddly = [machine(number).replace(b"Packed", b"Oddly") for number in range(10)]
    assert max(len(packer.pack(item)) for item in oddly[1:]) < len(oddly[0]) / 10


def test_equal_documents_share_their_packed_form() -> None:
    packer = Packer()
    assert packer.pack(machine(7)) is packer.pack(machine(7))


def test_a_packed_document_is_not_packed_again() -> None:
    packed = Packer().pack(machine(1))
    assert Packer().pack(packed) is packed
    assert unpack(packed) == machine(1)


def test_very_large_and_very_small_documents_stay_as_they_are() -> None:
    for encoded in (
        b'{"kind":"ConfigMap"}',
        b'{"kind":"ConfigMap","data":"%s"}' % (b"a" * LARGEST),
    ):
        assert Packer().pack(encoded) is encoded


def test_the_dictionary_of_secrets_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_json, "_numbers", {})
    monkeypatch.setattr(packed_json, "_dictionaries", [])
    secret = {
        "kind": "Secret",
        "metadata": {"name": "a" * SMALLEST, "annotations": {"applied": "confidential" * 20}},
        "data": {"key": "Y29uZmlkZW50aWFs" * 20},
        "stringData": {"key": "confidential" * 20},
    }
    packed = pack_document(secret, Packer())
    assert packed is not None
    assert unpack_document(packed) == secret
    assert len(packed_json._dictionaries) == 1
    assert not any(b"Y29uZmlkZW50aWFs" in item for item in packed_json._dictionaries)
    assert not any(b"confidential" in item for item in packed_json._dictionaries)


def test_a_document_that_is_not_json_is_left_alone() -> None:
    assert pack_document({"kind": "Machine", "spec": object()}, Packer()) is None


def test_kinds_without_an_end_take_bounded_memory() -> None:
    packer = Packer()
    for number in range(packed_json._MOST + 10):
        encoded = b'{"kind":"Kind%d","spec":"%s"}' % (number, b"x" * SMALLEST)
        assert unpack(packer.pack(encoded)) == encoded
    assert len(packed_json._dictionaries) <= packed_json._MOST
