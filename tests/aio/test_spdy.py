"""SPDY/3.1: what one side says, the other one hears, however the bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapy._aio.spdy import (
    DataReceived,
    Event,
    GoAwayReceived,
    NotSpdy,
    Session,
    StreamOpened,
    StreamReset,
)

DATA = {"streamtype": "data", "port": "2379", "requestid": "0"}


def heard(session: Session, data: bytes, step: int) -> list[Event]:
    return [
        event for at in range(0, len(data), step) for event in session.receive(data[at : at + step])
    ]


@given(
    st.lists(st.dictionaries(st.text("abcdef-", min_size=1), st.text(), max_size=4), max_size=4),
    st.binary(max_size=200),
    st.integers(1, 50),
)
def test_sent_headers_and_data_arrive(
    headers: list[dict[str, str]], data: bytes, step: int
) -> None:
    client, server = Session(client=True), Session(client=False)
    streams = [client.open(header) for header in headers]
    for stream in streams:
        client.send(stream, data, end=True)
    events = heard(server, client.pending(), step)
    opened = [StreamOpened(stream, header) for stream, header in zip(streams, headers, strict=True)]
    assert events == [*opened, *(DataReceived(stream, data, ended=True) for stream in streams)]
    for stream in streams:
        server.accept(stream)
        server.send(stream, b"thanks")
        server.reset(stream)
    thanks = [
        event
        for stream in streams
        for event in (DataReceived(stream, b"thanks"), StreamReset(stream))
    ]
    assert heard(client, server.pending(), step) == thanks


def test_large_data_is_split_into_frames() -> None:
    client, server = Session(client=True), Session(client=False)
    stream = client.open(DATA)
    client.send(stream, b"x" * 100_000, end=True)
    _, *pieces = server.receive(client.pending())
    assert len(pieces) == 4
    assert (
        b"".join(piece.data for piece in pieces if isinstance(piece, DataReceived))
        == b"x" * 100_000
    )


def test_a_ping_comes_back_once() -> None:
    server = Session(client=False)
    ping = bytes.fromhex("80030006 00000004 00000001")
    assert list(server.receive(ping)) == []
    assert server.pending() == ping
    own = bytes.fromhex("80030006 00000004 00000002")
    assert list(server.receive(own)) == []
    assert server.pending() == b""


def test_the_end_of_a_connection_is_reported() -> None:
    goaway = bytes.fromhex("80030007 00000008 00000000 00000000")
    assert list(Session(client=True).receive(goaway)) == [GoAwayReceived()]


@pytest.mark.parametrize(
    "wrong",
    [
        "80020001 00000004 00000001",  # SPDY/2
        "80030001 0000000e 00000001 00000000 0000 ffffffff",  # nothing that was compressed
    ],
)
def test_bytes_that_are_not_spdy_are_refused(wrong: str) -> None:
    with pytest.raises(NotSpdy):
        list(Session(client=False).receive(bytes.fromhex(wrong)))
