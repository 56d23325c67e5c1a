"""Parts of messages that have any form: how OpenAPI calls them."""

from __future__ import annotations

from typing import Final

RAW_OBJECT: Final = "RawExtension"
"""An object of any kind."""

RAW_VALUE: Final = "JSON"
"""Any JSON value."""
