"""What a change would do, before anything happens.

    async with ... : plan = await planned(documents, world, ...)

A management cluster (or what files say of one) is copied into a sandbox, the change is made there,
and the controllers of managed topologies do what they would do. What came of it is compared with
what was there; which Machines that replaces, and in which steps, the planners of the controllers
foretell. Nothing is written anywhere else.
"""
