"""Who waits at the bell wakes for signals and for whoever rings, and misses none."""

from __future__ import annotations

import os
import signal
import threading

from giusto.broker.bell import Bell


def test_a_ring_is_heard_whenever_it_came() -> None:
    with Bell() as bell:
        bell.ring()
        assert bell.wait() is None
        ringer = threading.Thread(target=bell.ring)
        ringer.start()
        assert bell.wait() is None
        ringer.join()


def test_signals_ring_in_the_order_in_which_they_come() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Bell() as bell, bell.signals():
        os.kill(os.getpid(), signal.SIGTERM)
        assert bell.wait() is signal.SIGTERM
        os.kill(os.getpid(), signal.SIGINT)
        bell.ring()
        assert [bell.wait(), bell.wait()] == [signal.SIGINT, None]
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_bell_that_nobody_answers_does_not_block_who_rings() -> None:
    with Bell() as bell:
        for _ in range(100_000):
            bell.ring()
        assert bell.wait() is None
    bell.ring()
