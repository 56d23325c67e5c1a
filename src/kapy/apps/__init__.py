"""Composition roots: the only package that constructs components and connects them."""
