"""The command lines: they parse arguments, call the library and print; they make no decisions."""
