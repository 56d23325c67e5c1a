"""Authentication, authorization, impersonation and service account tokens."""
