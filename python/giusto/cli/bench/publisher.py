"""The process of `giusto bench` that publishes: at the instants that the plan says, or as fast as it can."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from giusto.cli.bench.plan import Plan, Sent
from giusto.cli.pace import wait_until
from giusto.errors import GiustoError

if TYPE_CHECKING:
    from giusto.client import Publisher

HEAD_START_NS = 20_000_000
FLUSH_SECONDS = 30


def publish(plan: Plan) -> Sent:
    """Connect and carry out the plan."""
    from giusto.client import connect

    with connect(plan.address) as bus:
        publisher = bus.advertise(plan.topic)
        sent = in_time(plan, publisher) if plan.pace.period_ns else at_once(plan, publisher)
        bus.flush(FLUSH_SECONDS)
    return sent


def in_time(plan: Plan, publisher: Publisher) -> Sent:
    """An open loop: what is due is sent, however late; nothing waits for an answer."""
    payload = bytes(plan.size)
    wait = spin_until if plan.spin else wait_until
    count, late_ns, now_ns = 0, 0, 0
    first_ns = time.monotonic_ns() + HEAD_START_NS
    for due_ns in plan.pace.due_ns(first_ns):
        wait(due_ns)
        publisher.publish(payload, intended_ns=due_ns)
        now_ns = time.monotonic_ns()
        count += 1
        late_ns = max(late_ns, now_ns - due_ns)
    return Sent(count, first_ns, now_ns, late_ns)


def at_once(plan: Plan, publisher: Publisher) -> Sent:
    """As fast as the broker takes it."""
    payload, count, rounds = bytes(plan.size), 0, max(1, 1024 // plan.batch)
    payloads = [payload] * plan.batch
    first_ns = now_ns = time.monotonic_ns()
    while now_ns - first_ns < plan.seconds * 1e9:
        for _ in range(rounds):
            if plan.batch == 1:
                publisher.publish(payload)
            else:
                publisher.publish_many(payloads)
        count += rounds * plan.batch
        now_ns = time.monotonic_ns()
    return Sent(count, first_ns, now_ns, 0)


def spin_until(due_ns: int) -> None:
    """Wait without sleeping, to the microsecond."""
    while time.monotonic_ns() < due_ns:
        pass


def main() -> int:
    """Carry out the plan in the first argument, and print what was sent."""
    try:
        print(json.dumps(asdict(publish(Plan.read(sys.argv[1])))), flush=True)
    except GiustoError as error:
        print(f"giusto: publisher: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
