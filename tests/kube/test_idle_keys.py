"""Passes over the keys that a program has not used for a while."""

from __future__ import annotations

from kapy.kube.idle_keys import IdleKeys


def one_pass(keys: IdleKeys[str], everything: str = "") -> list[str]:
    return list(keys.next_pass(lambda: everything))


def test_a_key_is_idle_after_a_whole_pass_without_a_mark() -> None:
    keys = IdleKeys[str]()
    assert one_pass(keys, "abc") == []
    keys.mark("b")
    assert one_pass(keys) == ["a", "c"]
    assert one_pass(keys) == ["b"]
    assert one_pass(keys) == []


def test_a_key_that_is_marked_during_a_pass_is_not_idle() -> None:
    keys = IdleKeys[str]()
    one_pass(keys, "abc")
    idle = keys.next_pass(lambda: "")
    assert next(idle) == "a"
    keys.mark("b")
    assert list(idle) == ["c"]
    assert one_pass(keys) == []
    assert one_pass(keys) == ["b"]


def test_a_deleted_key_is_forgotten_during_a_pass() -> None:
    keys = IdleKeys[str]()
    one_pass(keys, "abc")
    idle = keys.next_pass(lambda: "")
    assert next(idle) == "a"
    keys.forget("b")
    assert list(idle) == ["c"]
    assert len(keys) == 0
