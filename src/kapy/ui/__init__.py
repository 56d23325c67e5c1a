"""The fleet page: what every cluster does, and why it waits, in a browser.

    pages = FleetPages(connect, clock=system_clock)     # an ASGI application
    async with pages.running(): ...

Pages are rendered on the server and read the API with the rights of the viewer only. `connect`
returns the client of a user; an embedded plane answers in process, `kapy ui --kubeconfig` uses the
credentials of the kubeconfig. Assets are files of the wheel: nothing is loaded from elsewhere.
"""
