"""Checks that a description consists of sentences, the first with the field's name as subject."""

from __future__ import annotations

import re
from typing import Final

VERBS: Final = frozenset(
    (
        "are", "becomes", "configures", "consists", "defines", "describes", "disables", "enable",
        "explain", "explains", "finds", "generates", "groups", "identifies", "keeps", "lists",
        "limits", "manages", "mounts", "names", "passes", "provides", "reads", "records",
        "registers", "relates", "repeated", "represents", "requests", "select", "selects",
        "skips", "stops", "summarizes", "suspends", "takes", "tells", "applies", "change",
        "changes",
        "classifies", "controls", "is", "was",
    )
)  # fmt: skip
"""Verbs that may follow the name of a field or type, as the second word of its description."""
RIDDLE: Final = re.compile(
    r"(^|[.] )(who|what|which|whose|whether|how|where|when)\b", re.IGNORECASE
)
LONGEST_SENTENCE: Final = 60


def problems(name: str, text: str) -> list[str]:
    """The problems of the description of the field or type with this name."""
    words = text.split(" ")
    checks = {
        "is empty": text == "",
        f"does not begin with {name}": words[0] != name,
        "has no verb after its subject": len(words) < 2 or words[1] not in VERBS,
        "is no full sentence": not text.endswith("."),
        "has a sentence without a subject": RIDDLE.search(text) is not None,
        "has a dash or semicolon between sentences": bool(re.search(";|\u2013|\u2014| - ", text)),
        "has more than one line": "\n" in text or "  " in text,
        "has a sentence that is too long": any(
            len(part.split()) > LONGEST_SENTENCE for part in text.split(". ")
        ),
    }
    return [problem for problem, wrong in checks.items() if wrong]
