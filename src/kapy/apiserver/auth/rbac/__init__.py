"""Role-based access control by the roles and bindings in the store."""
