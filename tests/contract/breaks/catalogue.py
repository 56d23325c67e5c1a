"""All breaks of promises.

One that a change of the code made meaningless is replaced, not removed: the bug is still possible.
"""

from __future__ import annotations

from typing import Final

from tests.contract.breaks.broken import Break
from tests.contract.breaks.commands import COMMANDS
from tests.contract.breaks.core import CORE

BREAKS: Final[tuple[Break, ...]] = (*CORE, *COMMANDS)
