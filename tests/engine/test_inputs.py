"""When a status need not be computed again."""

from __future__ import annotations

import pytest

from kapy.engine.inputs import Computed, Inputs
from kapy.kube import Key

KEY = Key("default", "a")
ONE, OTHER, EQUAL = {"a": 1}, {"a": 2}, {"a": 1}


@pytest.mark.parametrize(
    ("inputs", "same"),
    [
        (Inputs([ONE, OTHER], (1, "x")), True),
        (Inputs((ONE, OTHER), (1, "x")), True),
        (Inputs([EQUAL, OTHER], (1, "x")), False),  # read anew: something was written
        (Inputs([OTHER, ONE], (1, "x")), False),
        (Inputs([ONE], (1, "x")), False),
        (Inputs([ONE, OTHER, OTHER], (1, "x")), False),
        (Inputs([ONE, OTHER], (1, "y")), False),
        (None, False),  # time alone may change what is said
    ],
)
def test_a_status_comes_out_as_it_is_from_the_same_inputs(
    inputs: Inputs | None, same: bool
) -> None:
    computed = Computed()
    assert not computed.from_same(KEY, inputs)
    computed.keep(KEY, Inputs([ONE, OTHER], (1, "x")))
    assert computed.from_same(KEY, inputs) == same
    computed.forget(KEY)
    assert not computed.from_same(KEY, inputs)
