"""Refuse a commit whose subject is not `area: summary` with at most 72 characters."""

import re
import sys
from pathlib import Path

SUBJECT = re.compile(r"[a-z][a-z0-9_, /-]*: \S.*[^.]")

subject = Path(sys.argv[1]).read_text(encoding="utf-8").split("\n", 1)[0]
if not SUBJECT.fullmatch(subject) or len(subject) > 72:
    sys.exit(f"write the subject as `area: imperative summary`, at most 72 characters: {subject!r}")
