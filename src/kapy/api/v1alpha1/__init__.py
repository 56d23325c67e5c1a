"""Kinds as v1alpha1 served them: for conversion and for the definition of that version."""
