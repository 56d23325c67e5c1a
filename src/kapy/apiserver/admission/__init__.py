"""Admission plug-ins: their interface, and their use for several versions of a kind."""
