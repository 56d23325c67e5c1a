"""Running an extension: HTTPS with a certificate that stays valid, until it is told to stop.

`serving` runs an application; `certificate` looks after what it shows, from a folder, `shared` from
a Secret that replicas share (`authorities`); `loading` finds the extension in a module; `manifest`
makes the ExtensionConfig that registers it. `process` runs extensions beside a plane that is told
of them (`wanted`); `project` begins a new one.
"""
