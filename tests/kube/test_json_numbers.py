"""Numbers of JSON as Go holds them."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube.go_literals import as_doubles, fit_integers
from kapy.testing.frozen import freeze


@pytest.mark.parametrize(
    ("value", "fits", "doubled"),
    [
        (1, 1, 1),
        (1.0, 1.0, 1),
        (2.5, 2.5, 2.5),
        (True, True, True),
        (2**53, 2**53, 2**53),
        (2**63 - 1, 2**63 - 1, float(2**63)),
        (2**63, float(2**63), float(2**63)),
        (1e300, 1e300, 1e300),
        ({"a": [2**64, None, "s"]}, {"a": [float(2**64), None, "s"]}, None),
    ],
)
def test_a_number_is_decoded_as_in_go(value: Any, fits: Any, doubled: Any) -> None:
    fitted, double = fit_integers(freeze(value)), as_doubles(freeze(value))
    assert (fitted, type(fitted)) == (fits, type(fits))
    doubled = fits if doubled is None else doubled
    assert (double, type(double)) == (doubled, type(doubled))
