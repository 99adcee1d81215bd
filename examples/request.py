"""Ask and answer: a server on one bus, a client on another.

Needs a broker: `giusto broker`.
"""

import giusto

PULSE = {b"bed-1": b"61", b"bed-2": b"74"}


def pulse(request: giusto.Message) -> bytes:
    """The reply; what a handler raises reaches whoever asked."""
    if request.payload not in PULSE:
        raise LookupError(f"there is no {request.payload.decode()}")
    return PULSE[request.payload]


with giusto.connect() as server, giusto.connect() as client:
    server.serve("pulse", pulse)
    print(client.request("pulse", b"bed-1", timeout="5s").payload.decode())
    try:
        client.request("pulse", b"bed-9", timeout="5s")
    except giusto.RequestFailed as error:
        print(error)
