"""Reports, for whomever they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from kapy.testing.conformance.check import check_release
from kapy.testing.conformance.findings import Report, State
from kapy.testing.conformance.reports import FORMATS
from kapy.testing.conformance.rules import RULES
from tests.testing.conformance.valid_release import Draft


def broken_report() -> Report:
    draft = Draft()
    draft.of("Deployment")["metadata"]["namespace"] = "<b>&\x01"
    draft.objects["clusterclass-meadow.yaml"][1]["metadata"]["name"] = "${NAME}"
    return check_release(draft.release())


REPORT = broken_report()
BROKEN = {"clusterctl/in-namespace", "clusterctl/class-variables"}


def test_a_text_report_has_rule_evidence_place_and_remedy() -> None:
    text = FORMATS["text"]([REPORT])
    for item in REPORT.with_state(State.BROKEN):
        remedies = (
            item.rule.id,
            item.rule.says,
            item.rule.address,
            *(finding.remedy for finding in item.findings),
        )
        assert all(name in text for name in remedies), remedies
        assert text.index(REPORT.name) < text.index(item.rule.id)
    assert "2 broken (1 MUST, 1 SHOULD)" in text
    assert text.index("in-namespace") < text.index("class-variables")


def test_a_text_report_lists_rules_that_could_not_be_judged() -> None:
    draft = Draft()
    draft.version = "latest"
    assert "not run  clusterctl/release-in-series" in FORMATS["text"](
        [check_release(draft.release())]
    )


def test_a_json_report_has_every_rule() -> None:
    release = json.loads(FORMATS["json"]([REPORT]))["releases"][0]
    assert (release["name"], release["worst"]) == (REPORT.name, "MUST")
    assert {item["rule"] for item in release["results"]} == set(RULES)
    results = {item["rule"]: item for item in release["results"] if item["state"] == "broken"}
    assert set(results) == BROKEN
    assert all(value["findings"][0]["file"] for value in results.values())
    keys = {"file", "object", "field", "evidence", "mend"}  # others read them: they stay
    assert {key for value in results.values() for key in value["findings"][0]} == keys


def test_a_junit_report_has_failures_and_skipped_rules() -> None:
    suite = ElementTree.fromstring(FORMATS["junit"]([REPORT]).split("?>", 1)[1])[0]
    assert {
        item.get("name") for item in suite.iter("testcase") if item.find("failure") is not None
    } == (BROKEN)
    judged = [item for item in REPORT.results if item.state is not State.AUTHOR]
    left_out = len(REPORT.with_state(State.NOT_RUN)) + len(REPORT.with_state(State.NOT_APPLICABLE))
    counts = {name: suite.get(name) for name in ("tests", "failures", "skipped")}
    expected = {"tests": len(judged), "failures": 2, "skipped": left_out}
    assert counts == {name: str(count) for name, count in expected.items()}
    assert len(list(suite.iter("skipped"))) == left_out


class Reader(HTMLParser):
    """The text that a browser shows, and the elements of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = ""
        self.elements: set[str] = set()

    def handle_data(self, data: str) -> None:
        self.shown += data

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.add(tag)


def test_texts_of_files_are_escaped_in_html() -> None:
    reader = Reader()
    reader.feed(FORMATS["html"]([REPORT]))
    assert "<b>&" in reader.shown
    assert "b" not in reader.elements
    assert all(rule in reader.shown for rule in RULES)


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_every_form_can_be_written_to_a_file(form: Callable[[list[Report]], str]) -> None:
    assert form([REPORT]).encode("utf-8", "replace").endswith(b"\n")
