"""How long `giusto.plan()` takes with a search of shares, and how that grows with topics and clients.

    python benchmarks/plan.py            the sizes of the table in docs/reference/plan.md
    python benchmarks/plan.py 200 100    so many topics and clients

Every client publishes on a fifth of the topics, and three clients subscribe to each with a need. The promises
are such that default shares are not enough: weights and rates have to be found.
"""

from __future__ import annotations

import argparse
import random
import time

from giusto.config import BrokerConfig, Guarantee
from giusto.contract import Need, Offer
from giusto.planning import Needed, Offered, Plan, Scenario, plan
from giusto.planning.scenario import POLICIES

SIZES = [(25, 50), (50, 50), (100, 50), (200, 50), (100, 25), (100, 100)]
SUBSCRIBERS = 3


def scenario(topics: int, clients: int, urgent: float, seed: int = 4) -> Scenario:
    """Topics of three kinds; the promises of the first kind are `urgent` seconds, the others are longer."""
    choose = random.Random(seed)
    publishers = max(1, clients // 5)
    offers: list[Offered] = []
    needs: list[Needed] = []
    for k in range(topics):
        kind = k % 3
        offer = Offer(
            min_sep=0.04 * topics * publishers / (kind + 1), burst=(4, 2, 1)[kind], max_size=64 << (2 * kind)
        )
        for client in choose.sample(range(clients), publishers):
            place = f"offer[{len(offers)}]"
            offers.append(Offered(client=f"client-{client}", topic=f"topic/{k}", offer=offer, path=place))
        for client in choose.sample(range(clients), SUBSCRIBERS):
            need = Need(max_latency=urgent * (1, 6, 20)[kind] * (1 + 0.01 * choose.random()))
            place = f"need[{len(needs)}]"
            needs.append(Needed(client=f"client-{client}", pattern=f"topic/{k}", need=need, path=place))
    config = BrokerConfig(guarantee=Guarantee(tolerance_ns=10_000_000_000))
    return Scenario(offers=tuple(offers), needs=tuple(needs), config=config)


def tight(topics: int, clients: int) -> Scenario:
    """The scenario whose urgent promises are 70 % of what default shares can give."""
    loose = plan(scenario(topics, clients, 1e5), search=False)
    urgent = {f"topic/{k}" for k in range(0, topics, 3)}
    bound_ns = max(each.bound_ns for each in loose.contracts if each.topic in urgent)
    return scenario(topics, clients, bound_ns * 0.7 / 1e9)


def timed(given: Scenario, policy: str) -> tuple[float, Plan]:
    """Seconds of one plan, and the plan."""
    start = time.perf_counter()
    made = plan(given, input=policy)
    return time.perf_counter() - start, made


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("topics", nargs="?", type=int)
    parser.add_argument("clients", nargs="?", type=int, default=50)
    given = parser.parse_args()
    sizes = SIZES if given.topics is None else [(given.topics, given.clients)]
    print("| topics | clients | flows | policy | seconds | all hold | what is said |")
    print("|---:|---:|---:|---|---:|---|---|")
    for topics, clients in sizes:
        wanted = tight(topics, clients)
        for policy in POLICIES:
            seconds, made = timed(wanted, policy)
            row = (
                topics,
                clients,
                len(wanted.offers),
                policy,
                f"{seconds:.2f}",
                "yes" if made.holds else "no",
            )
            print(f"| {' | '.join(map(str, row))} | {made.claim} |", flush=True)


if __name__ == "__main__":
    main()
