"""The kinds as v1beta1 served them: one module per kind, named as the stored version's is.

They are for schemas and conversion only; no controller reads them.
"""
