"""Running an extension: HTTPS with a certificate that stays valid, until it is told to stop.

`serving` runs an application; `certificate` looks after what it shows; `loading` finds the
extension in a module; `manifest` makes the ExtensionConfig that registers it.
"""
