"""Composition roots: the only place that builds things and plugs them together."""
