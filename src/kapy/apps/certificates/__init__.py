"""Serves cert-manager's kinds on a plane: it issues the Certificates that users apply.

A plane runs no cert-manager; its own CA issues the certificates of provider releases. A plane also
defines cert-manager's kinds, so that Certificates which a user or provider applies later work, too.

* `definitions` their CRDs
* `issuing`     pure: the signer of a Certificate, its Secret, and when it is due
* `status`      pure: statuses in cert-manager's format
* `controllers` the controllers of issuers and certificates
* `injection`   the controllers that set `caBundle`

The controllers stop their work as soon as cert-manager itself is installed.
"""
