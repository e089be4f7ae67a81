"""Several front ends over one engine: processes of ``server.frontends``.

The process of the command owns the engine and is a front end as any other. It starts
the others, each with a container of its own that is a client of the same engine, takes
their place while they are not there, and is the only one that is asked about the
server: probes, metrics, the status page and all that is for administrators.
"""
