"""Regular expressions as Go's `regexp` package has them, for every pattern that is not our own.

    compile_pattern("^[a-z]+$").matches("text")
    compile_pattern("(a)(b)?").replace("abc", "$1-")
    check("a(b")                      # BadPattern: error parsing regexp: missing closing ): `a(b`

`syntax` reads a pattern as Go does (the same patterns are refused, with the same sentences) and
writes it for RE2, which runs it in time that is linear in the text. Never give such a pattern to
Python's `re`, which backtracks: a pattern of ten characters can keep it busy for years.

RE2 itself is imported when the first pattern is run.
"""

from kapy.kube.regexp.cost import TooCostly, allowance
from kapy.kube.regexp.program import Regexp, check, compile_pattern, quote
from kapy.kube.regexp.syntax import BadPattern

__all__ = ["BadPattern", "Regexp", "TooCostly", "allowance", "check", "compile_pattern", "quote"]
