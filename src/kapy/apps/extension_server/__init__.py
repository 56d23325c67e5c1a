"""Runs an extension over HTTPS until it is stopped (`serving`, `kapy.apps.https`).

`loading` finds the extension in a module. `protocol` is a minimal HTTP protocol for hooks.
`manifest` creates the ExtensionConfig that registers the extension. `process` runs the extensions
that were configured for a plane (`configured_extensions`) beside it. `processes` serves an
extension from several processes (`served_process`, `process_config`). `project` creates a new
extension project.
"""
