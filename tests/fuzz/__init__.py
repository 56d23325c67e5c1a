"""Fuzz tests: every function that takes foreign bytes, and the errors that it may raise.

* `harness` defines a harness and the checks that hold for all of them.
* `of_*` modules define the harnesses, grouped by where the bytes come from.
* `tests/data/fuzz/NAME.json` holds the inputs that together reach most code; `test_corpus`
  replays them.
* `python -m tests.fuzz NAME --seconds N` searches for more (needs the extra `fuzz`, atheris).
"""
