"""Public test kit: virtual time, stories, faults. Nothing outside tests imports it."""
