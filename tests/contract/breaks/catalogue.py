"""All breaks.

One that a change of the code made meaningless is replaced, not removed: the bug is still possible.
"""

from __future__ import annotations

from typing import Final

from tests.contract.breaks.authors import AUTHORS
from tests.contract.breaks.broken import Break, each
from tests.contract.breaks.commands import COMMANDS
from tests.contract.breaks.core import CORE
from tests.contract.breaks.machines import MACHINES, POOLS
from tests.contract.breaks.more import OTHER_PARTS
from tests.contract.breaks.move import MOVE

BREAKS: Final[tuple[Break, ...]] = (
    *(*CORE, *MACHINES, *POOLS),
    *(*COMMANDS, *MOVE),
    *(*OTHER_PARTS, *AUTHORS),
)
NOT_SHOWN: Final = {
    *each("clusterctl"),  # the rules clusterctl/… are shown themselves
    *each("in-place"),  # nothing of kapy's own kinds changes in place
    "clusterctl/variable-names",
    "ipam/move-label",  # kapy has no kind of pools
}
"""Rules that no test of kapy's shows: only an author can, of a provider that is not kapy's."""
