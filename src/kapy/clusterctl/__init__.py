"""Management operations as a library: install, upgrade, move, describe, generate."""
