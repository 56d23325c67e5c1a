"""The columns of `kubectl get` for kinds in version v1alpha1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.columns import AGE, IP_ADDRESS, IP_ADDRESS_CLAIM, Column

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "IPAddress": IP_ADDRESS,
    "IPAddressClaim": IP_ADDRESS_CLAIM,
    "ExtensionConfig": (AGE,),
}
