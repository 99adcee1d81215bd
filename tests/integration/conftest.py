"""What tests with real processes may ask for: a broker, and clients beside it that must notice nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bystanders import Bystanders
from raw import BrokerProcess, require_alive


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerProcess]:
    """One broker for the tests of a module that leave it as they found it; it must outlive them all."""
    with BrokerProcess() as process:
        yield process
        require_alive(process.process)


@pytest.fixture
def bystanders(broker: BrokerProcess) -> Iterator[Bystanders]:
    """A publisher and a subscriber that lose nothing, whatever the test does to the broker."""
    with Bystanders(broker.address) as pair:
        yield pair
