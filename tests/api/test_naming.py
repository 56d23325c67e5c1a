"""Names made of templates."""

from __future__ import annotations

import pytest

from kapy.api.naming import BadNameTemplate, generate_name, render_name

DATA = {"cluster": {"name": "c"}, "machineSet": {"name": "ms"}, "random": "x7k2p"}


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{{ .machineSet.name }}-{{ .random }}", "ms-x7k2p"),
        ("{{.cluster.name}}-{{.random}}", "c-x7k2p"),
        ("a {{- .random -}} b", "ax7k2pb"),
        ("plain", "plain"),
        ("{{ if .random }}{{ .cluster.name }}{{ end }}", "c"),
        ('{{ printf "%s-%s" .cluster.name .random }}', "c-x7k2p"),
    ],
)
def test_a_template_is_filled(template: str, name: str) -> None:
    assert render_name(template, DATA) == name


@pytest.mark.parametrize(
    "template",
    ["{{ .nobody }}", "{{ .random.name }}", "{{ upper .random }}", "{{ .random", "{{{ .random }}"],
)
def test_a_template_that_cannot_be_filled_is_refused(template: str) -> None:
    with pytest.raises(BadNameTemplate):
        render_name(template, DATA)


def test_a_long_name_is_cut_and_still_ends_with_its_characters() -> None:
    long = {**DATA, "cluster": {"name": "c" * 70}}
    template = "{{ .cluster.name }}-{{ .random }}"
    assert generate_name(template, long, "x7k2p") == "c" * 58 + "x7k2p"
    assert generate_name(template, long, "x7k2p", again="other") == "c" * 58 + "other"
