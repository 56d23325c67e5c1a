"""Core controllers, one package per kind. They access provider objects only through
kapy.contract.
"""
