"""A status is not computed again from the same inputs."""

from __future__ import annotations

import pytest

from kapy.engine.status_writes import StatusInputs, StatusMemo
from kapy.kube import Key

KEY = Key("default", "a")
ONE, OTHER, EQUAL = {"a": 1}, {"a": 2}, {"a": 1}


@pytest.mark.parametrize(
    ("inputs", "same"),
    [
        (StatusInputs([ONE, OTHER], (1, "x")), True),
        (StatusInputs((ONE, OTHER), (1, "x")), True),
        (StatusInputs([EQUAL, OTHER], (1, "x")), False),  # read anew: something was written
        (StatusInputs([OTHER, ONE], (1, "x")), False),
        (StatusInputs([ONE], (1, "x")), False),
        (StatusInputs([ONE, OTHER, OTHER], (1, "x")), False),
        (StatusInputs([ONE, OTHER], (1, "y")), False),
        (None, False),  # time alone may change what is said
    ],
)
def test_equal_inputs_reuse_the_computed_status(inputs: StatusInputs | None, same: bool) -> None:
    computed = StatusMemo()
    assert not computed.is_current(KEY, inputs)
    computed.keep(KEY, StatusInputs([ONE, OTHER], (1, "x")))
    assert computed.is_current(KEY, inputs) == same
    computed.forget(KEY)
    assert not computed.is_current(KEY, inputs)
