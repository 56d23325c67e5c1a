"""Role based access control: roles and bindings of the store decide who may do what."""
