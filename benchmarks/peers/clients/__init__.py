"""Publishers and subscribers in Python, with each peer's own client, as a person writes them who wants speed.

Every module has `publish(target, seconds)`, which returns how many messages it sent, and
`subscribe(target, meter)`, which counts until the meter ends the process. Nothing is imported but what
the one client needs.
"""
