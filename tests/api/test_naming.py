"""Names made of templates."""

from __future__ import annotations

import pytest

from kapy.api.naming import BadNameTemplate, rendered_name

DATA = {"cluster": {"name": "c"}, "machineSet": {"name": "ms"}, "random": "x7k2p"}


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{{ .machineSet.name }}-{{ .random }}", "ms-x7k2p"),
        ("{{.cluster.name}}-{{.random}}", "c-x7k2p"),
        ("a {{- .random -}} b", "ax7k2pb"),
        ("plain", "plain"),
    ],
)
def test_a_template_is_filled(template: str, name: str) -> None:
    assert rendered_name(template, DATA) == name


@pytest.mark.parametrize(
    "template",
    ["{{ .nobody }}", "{{ .cluster }}", "{{ .random.name }}", "{{ upper .random }}", "{{ .random"],
)
def test_a_template_that_cannot_be_filled_is_refused(template: str) -> None:
    with pytest.raises(BadNameTemplate):
        rendered_name(template, DATA)
