"""Patterns and texts made up at random, and what kapy makes of them in the form of `judge.go`."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from kapy.kube.regexp import BadPattern, compile_pattern

TEMPLATE: Final = "<$1|${2}|$$|$n|${x}|$1x|${|$>"
_ATOMS: Final = (
    *("a", "b", "ab", "é", "ß", "K", "k", "Ж", "漢", "😀", " ", "-", "_", "0", "9", "\n", "\t"),
    *(".", "^", "$", r"\A", r"\z", r"\b", r"\B", r"\d", r"\D", r"\s", r"\S", r"\w", r"\W"),
    *("[ab]", "[^ab]", "[a-z]", "[^a-z]", "[]a]", "[^]a]", "[a-]", "[-a]", r"[\d-z]", r"[\]\\]"),
    *("[[:alpha:]]", "[[:^alpha:]]", "[^[:word:][:space:]]", r"[\w-]", r"[\pL\d]", r"[^\pN]"),
    *(r"\pL", r"\PL", r"\p{Greek}", r"\p{^Greek}", r"\P{^Lu}", r"\p{Letter}", r"\p{lu}", r"\pC"),
    *(r"\p{Any}", r"\p{LC}", r"\P{LC}", r"\p{ASCII}", r"[\P{ASCII}a]", r"\p{Han}", r"\PC"),
    *(r"\x41", r"\x{e9}", r"\x{1F600}", r"\101", r"\07", r"\Qa.b\E", r"\Q+", r"\.", r"\_", r"\/"),
    *("(?i)", "(?s)", "(?m)", "(?U)", "(?-i)", "(?i-s)", "(?im)", "(?)"),
    *("[é-ü]", "[\u017f]", r"[\x{0}-\x{10FFFF}]", "[0-9A-Fa-f]", "[K-k]", "[^\n]"),
)
_BROKEN: Final = (
    *("(", ")", "[", "]", "{", "}", "*", "+", "?", "|", "\\", "**", "+?", "++", "a**", "*+", "{2}"),
    *(
        r"\1",
        r"\8",
        r"\Z",
        r"\C",
        r"\G",
        r"\K",
        r"\h",
        r"\R",
        r"\u0041",
        r"\c",
        r"\e",
        r"\x",
        r"\xg",
    ),
    *(
        r"\x{",
        r"\x{}",
        r"\x{110000}",
        r"\p",
        r"\p{",
        r"\p{Foo}",
        r"\pX",
        r"\p{}",
        r"\p{Old_Italic}",
    ),
    *(
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?<!a)",
        "(?>a)",
        "(?#c)",
        "(?P=n)",
        "(?P>n)",
        "(?&n)",
        "(?'n'a)",
    ),
    *("(?P<n", "(?P<>a)", "(?P<é>a)", "(?P<n-m>a)", "(?z)", "(?-)", "(?i-)", "(?--i)", "(?", "(?P"),
    *("[b-a]", "[a", "[^", "[]", "[[:foo:]]", "[[:alpha:", "[[.a.]]", r"[\Z]", r"[\b]", r"[a-\d]"),
    *(
        "{1001}",
        "{2,1}",
        "{,2}",
        "{02}",
        "{2,02}",
        "{99999999999}",
        "{1,1001}",
        "{a}",
        "(?i)*",
        "^*",
    ),
)
_REPEATS: Final = (
    *(
        "*",
        "+",
        "?",
        "*?",
        "+?",
        "??",
        "{0}",
        "{1}",
        "{2}",
        "{2,}",
        "{0,3}",
        "{1,2}?",
        "{0,}",
        "{3}",
    ),
)
_LETTERS: Final = "aaabbbkKéß\u017fЖж漢😀 09-_.A\n\tzZ\u0378"


def pattern(random: Random) -> str:
    """A pattern; one of five has something in it that is likely wrong."""
    text = _alternatives(random, 3)
    if random.random() < 0.2:
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice(_BROKEN) + text[at:]
    if random.random() < 0.05 and text:
        at = random.randrange(len(text))
        text = text[:at] + text[at + 1 :]
    return text


def _alternatives(random: Random, depth: int) -> str:
    return "|".join(_row(random, depth) for _ in range(random.choice((1, 1, 1, 2, 3))))


def _row(random: Random, depth: int) -> str:
    return "".join(_piece(random, depth) for _ in range(random.choice((0, 1, 1, 2, 2, 3, 4))))


def _piece(random: Random, depth: int) -> str:
    if depth and random.random() < 0.3:
        start = random.choice(("(", "(", "(?:", "(?P<n>", "(?<x>", "(?i:", "(?s-m:"))
        text = f"{start}{_alternatives(random, depth - 1)})"
    else:
        text = random.choice(_ATOMS)
    return text + random.choice(_REPEATS) if random.random() < 0.3 else text


def texts(random: Random) -> list[str]:
    """A few texts."""
    return ["", *("".join(random.choices(_LETTERS, k=random.randrange(1, 9))) for _ in range(5))]


def questions(seed: int, count: int) -> list[dict[str, Any]]:
    """Questions for the judge."""
    random = Random(seed)
    return [
        {"pattern": pattern(random), "texts": texts(random), "with": TEMPLATE} for _ in range(count)
    ]


def verdict(question: dict[str, Any]) -> dict[str, Any]:
    """Return kapy's answer to a question, in the form of the judge's answers."""
    try:
        regexp = compile_pattern(question["pattern"])
        answers = [
            {
                "matches": regexp.matches(text),
                "all": regexp.submatches(text) or None,
                "replaced": regexp.replace(text, question["with"]),
                "literal": regexp.replace_literal(text, question["with"]),
                "split": regexp.split(text),
            }
            for text in question["texts"]
        ]
    except BadPattern as error:
        return {"error": str(error)}
    return {"answers": answers}
