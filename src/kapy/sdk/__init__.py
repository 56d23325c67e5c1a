"""Provider SDK: what a provider author imports. Everything else of kapy is private."""
