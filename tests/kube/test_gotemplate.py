"""Go templates."""

from __future__ import annotations

import pytest

from kapy.kube.gotemplate import BadTemplate, CannotRender, parsed

DATA = {"name": "c", "sizes": [1.0, 2.5], "big": 1e6, "on": True}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ .name }}-{{ .on }}", "c-true"),
        ("{{ range .sizes }}{{ . }};{{ end }}", "1;2.5;"),
        ("{{ .big }}", "1e+06"),
        ("{{ .nobody }}", "<no value>"),
        ("a {{- if .on }} b{{ end }}", "a b"),
    ],
)
def test_a_template_says_what_it_says_in_go(template: str, text: str) -> None:
    assert parsed(template).rendered(DATA) == text


def test_functions_of_sprig_are_there_when_asked_for() -> None:
    assert parsed('{{ .name | upper | default "x" }}', sprig=True).rendered(DATA) == "C"
    with pytest.raises(BadTemplate, match="upper"):
        parsed("{{ .name | upper }}")
    with pytest.raises(BadTemplate, match="env"):
        parsed('{{ env "HOME" }}', sprig=True)


@pytest.mark.parametrize("template", ["{{ .name", "{{ if }}", "{{ end }}"])
def test_a_text_that_is_no_template_is_refused(template: str) -> None:
    with pytest.raises(BadTemplate):
        parsed(template)


def test_a_strict_template_misses_nothing() -> None:
    with pytest.raises(CannotRender, match="nobody"):
        parsed("{{ .nobody }}", strict=True).rendered(DATA)
