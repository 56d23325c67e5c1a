"""All breaks.

One that a change of the code made meaningless is replaced, not removed: the bug is still possible.
"""

from __future__ import annotations

from typing import Final

from tests.contract.breaks.authors import AUTHORS
from tests.contract.breaks.broken import Break
from tests.contract.breaks.commands import COMMANDS
from tests.contract.breaks.core import CORE
from tests.contract.breaks.in_place import IN_PLACE
from tests.contract.breaks.machines import MACHINES, POOLS
from tests.contract.breaks.move import MOVE
from tests.contract.breaks.other_promises import OTHER_PARTS

BREAKS: Final[tuple[Break, ...]] = (
    *(*CORE, *MACHINES, *POOLS),
    *(*COMMANDS, *MOVE),
    *(*OTHER_PARTS, *AUTHORS, *IN_PLACE),
)
