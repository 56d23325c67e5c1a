"""cert-manager's kinds on a plane: Certificates and Issuers that anybody applies are looked after.

A plane has no cert-manager; its own authority issues what releases ask for. So that Certificates
that a user or a provider applies later work, too, a plane defines cert-manager's kinds itself:

* `definitions` their CRDs
* `issuers`     pure: who signs a Certificate, and whether an Issuer can
* `issuing`     pure: the Secret of a Certificate, and when it is due
* `status`      pure: statuses as cert-manager writes them
* `controllers` the controllers: issuers, certificates, and authorities told to who trusts them

They rest as soon as somebody installs cert-manager itself.
"""
