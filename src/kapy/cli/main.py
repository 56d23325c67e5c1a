"""The `kapy` command. It parses the arguments, and imports a subcommand only when it is called."""

from __future__ import annotations

# `signal` itself imports enum, which takes longer than a quick answer.
import _signal  # type: ignore[import-not-found]
import gc
import sys

INTERRUPTED_EXIT_CODE = 130
COLLECTION_THRESHOLD = 20_000
"""Objects that are created before the youngest ones are looked through for garbage. The modules of
a command are many objects and no garbage; at Python's own 700 there are hundreds of collections."""


def main() -> None:
    """Entry point of the `kapy` command; Ctrl-C ends it without a traceback at any moment.

    While a command runs, Ctrl-C raises KeyboardInterrupt. Before and after that no cleanup is
    needed, so Ctrl-C ends the process at once: callbacks of the import system and of the
    interpreter's shutdown would print a KeyboardInterrupt and ignore it.
    """
    try:
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:
        code = INTERRUPTED_EXIT_CODE
    if code:
        sys.exit(code)


def _run(arguments: list[str]) -> int:
    _on_ctrl_c(_signal.SIG_DFL)
    from kapy.cli.fast_path import try_fast_path

    if try_fast_path(arguments):
        return 0
    gc.set_threshold(COLLECTION_THRESHOLD)
    from kapy.cli.root import run

    _on_ctrl_c(_signal.default_int_handler)
    try:
        return run(arguments)
    finally:
        _on_ctrl_c(_signal.SIG_DFL)


def _on_ctrl_c(handler: object) -> None:
    """Set the handler of SIGINT, unless SIGINT is ignored (as in a shell's background job)."""
    if _signal.getsignal(_signal.SIGINT) in (_signal.SIG_DFL, _signal.default_int_handler):
        _signal.signal(_signal.SIGINT, handler)


if __name__ == "__main__":
    main()
