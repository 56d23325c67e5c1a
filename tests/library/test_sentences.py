"""Sentences have a subject, a verb and an object; docstrings open with a noun or a verb."""

from __future__ import annotations

import pytest

from tests.library.sentences import PROGRAMS, files, riddle_openings, riddles, unknown_labels

EXEMPT = {
    "tests/api/descriptions/test_properties.py",  # a pattern of such words
    "tests/api/descriptions/test_sentences.py",  # examples
    "tests/data/apiserver/normalise.py",  # as it was recorded
    "tests/data/apiserver/replay.py",
    "tests/hooks/test_faults.py",  # the heading of a document
    "tests/library/sentences.py",
    "tests/library/test_sentences.py",
    "tests/real_clusters/images.py",  # its text marks the images that were built by it
}


def test_no_sentence_has_a_question_word_as_its_subject() -> None:
    places = [
        str(place)
        for path, text in files((*PROGRAMS, "benchmarks", "docs", "tests"), ".py", ".md")
        if path not in EXEMPT
        for place in riddles(path, text)
    ]
    assert places == []


def test_no_docstring_opens_with_a_question_word() -> None:
    places = [
        str(place) for path, text in files(PROGRAMS, ".py") for place in riddle_openings(path, text)
    ]
    assert places == []


def test_docstrings_explain_only_parameters_and_attributes_that_exist() -> None:
    places = [
        str(place) for path, text in files(PROGRAMS, ".py") for place in unknown_labels(path, text)
    ]
    assert places == []


@pytest.mark.parametrize(
    "text",
    [
        '"""What is deleted may be shown as it was."""',
        '"""Ends. Who may not read\none may list."""',
        "x = 1  # Whose flags are meant.",
        "# It ends. What\n# comes then waits.",
        'raise E(f"{x} is wrong. Which one it is, stands there")',
        '"""Of what has no version, each signal is a change."""',
    ],
)
def test_a_riddle_is_found(text: str) -> None:
    assert [place.line for place in riddles("src/x.py", text)] == [1]


@pytest.mark.parametrize(
    "text",
    [
        '"""The names: what they are."""',
        '"""What is it?"""',
        "# `What` is a name.",
        "# noqa: E501",
        '"""Nobody asks what is there."""',
    ],
)
def test_other_sentences_are_left_alone(text: str) -> None:
    assert list(riddles("src/x.py", text)) == []


def test_a_document_is_read_without_headings_and_code() -> None:
    text = "# What is kept\n\nA line.\nWhat goes\nis told.\n\n```sh\n# What\n```\n- Which is it.\n"
    assert [place.line for place in riddles("docs/x.md", text)] == [4, 10]
    table = "| What to do | How |\n|---|---|\n| a | What was said. |\n"
    assert [place.line for place in riddles("docs/x.md", table)] == [3]


@pytest.mark.parametrize("opening", ["How", "When", "Where", "What", "Who", "Which", "Whose"])
def test_a_docstring_that_opens_with_a_question_word_is_found(opening: str) -> None:
    text = f'def f():\n    """{opening} a request arrived."""\n'
    assert [place.line for place in riddle_openings("src/x.py", text)] == [2]


@pytest.mark.parametrize(
    ("docstring", "unknown"),
    [
        ("Do it. count: how often. most: at most.", ["f has no most"]),
        ("Do it.\n\n    count, times: how often.", ["f has no times"]),
        ("Do it with this count: one. There is more: nothing.", []),
    ],
)
def test_a_parameter_that_does_not_exist_is_found(docstring: str, unknown: list[str]) -> None:
    text = f'def f(count: int) -> None:\n    """{docstring}"""\n'
    assert [place.sentence for place in unknown_labels("src/x.py", text)] == unknown
