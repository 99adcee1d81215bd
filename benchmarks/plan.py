"""How long `giusto.plan()` takes with a search of shares, and how that grows with topics and clients.

    python benchmarks/plan.py               figures, as `make bench` wants them
    python benchmarks/plan.py --table       the table of docs/reference/plan.md
    python benchmarks/plan.py 200 100 20    so many topics, clients, and publishers of each topic

Three clients subscribe to each topic with a need. The promises are such that default shares are not enough:
weights and rates have to be found.
"""

from __future__ import annotations

import argparse
import json
import random
import time

from giusto.config import BrokerConfig, Guarantee
from giusto.contract import Need, Offer
from giusto.planning import Needed, Offered, Plan, Scenario, plan
from giusto.planning.scenario import POLICIES

SIZES = [(25, 50, 10), (50, 50, 10), (100, 50, 10), (200, 50, 10), (100, 100, 20), (100, 50, 50)]
SUBSCRIBERS = 3


def scenario(topics: int, clients: int, publishers: int, urgent: float, seed: int = 4) -> Scenario:
    """Topics of three kinds; the promises of the first kind are `urgent` seconds, the others are longer."""
    choose = random.Random(seed)
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


def tight(topics: int, clients: int, publishers: int) -> Scenario:
    """The scenario whose urgent promises are 70 % of what default shares can give."""
    loose = plan(scenario(topics, clients, publishers, 1e5), search=False)
    urgent = {f"topic/{k}" for k in range(0, topics, 3)}
    bound_ns = max(each.bound_ns for each in loose.contracts if each.topic in urgent)
    return scenario(topics, clients, publishers, bound_ns * 0.7 / 1e9)


def timed(given: Scenario, policy: str) -> tuple[float, Plan]:
    """Seconds of processor time of one plan, and the plan: whatever else the machine does."""
    start = time.process_time()
    made = plan(given, input=policy)
    return time.process_time() - start, made


def row(wanted: Scenario, topics: int, clients: int, policy: str) -> str:
    """A line of the table."""
    seconds, made = timed(wanted, policy)
    holds = "yes" if made.holds else "no"
    cells = (topics, clients, len(wanted.offers), policy, f"{seconds:.2f}", holds, made.claim)
    return f"| {' | '.join(map(str, cells))} |"


def figure(wanted: Scenario, topics: int, clients: int, policy: str) -> str:
    """The seconds as a line of JSON."""
    seconds, _ = timed(wanted, policy)
    case = f"{topics} topics, {clients} clients, {len(wanted.offers):,} flows | {policy}"
    return json.dumps({"bench": "plan", "case": case, "value": round(seconds, 3), "unit": "s"})


def main() -> None:
    """Print figures or a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("topics", nargs="?", type=int)
    parser.add_argument("clients", nargs="?", type=int, default=50)
    parser.add_argument("publishers", nargs="?", type=int, default=10)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    sizes = SIZES if given.topics is None else [(given.topics, given.clients, given.publishers)]
    if given.table:
        print("| topics | clients | flows | policy | seconds | all hold | what is said |")
        print("|---:|---:|---:|---|---:|---|---|")
    line = row if given.table else figure
    for topics, clients, publishers in sizes:
        wanted = tight(topics, clients, publishers)
        for policy in POLICIES:
            print(line(wanted, topics, clients, policy), flush=True)


if __name__ == "__main__":
    main()
