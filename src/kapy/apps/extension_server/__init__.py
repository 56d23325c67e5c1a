"""Running an extension: over HTTPS, until it is told to stop (`answering`, `kapy.apps.https`).

`loading` finds the extension in a module; `protocol` is an HTTP protocol that knows no more than
hooks need; `manifest` makes the ExtensionConfig that registers it. `process` runs extensions beside
a plane that is told of them (`wanted`); `project` begins a new one.
"""
