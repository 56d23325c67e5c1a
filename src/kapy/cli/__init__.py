"""Command lines. Parse, call, print; no decisions."""
