"""The API: what of ``Promptuary`` can be asked over HTTP, and how its values are written there.

One table (``endpoints``) says which method has which address. What a request holds and what is answered follows from
the signature of the method (``operations``). The server, the client and the OpenAPI document are made from these.
Knows nothing of connections.
"""
