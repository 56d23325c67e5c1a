"""Providers that were written by hand, as somebody may without an SDK: good ones, each of which
can be told to be wrong in one way."""
