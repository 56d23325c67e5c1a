"""Core controllers, one package per kind. They know providers only through kapy.contract."""
