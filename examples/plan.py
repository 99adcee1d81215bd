"""Plans the ward of scenario.toml: which contracts hold, with which shares, and under which policy.

python examples/plan.py [scenario.toml]
"""

import sys
from pathlib import Path

import giusto


def main(path: Path) -> None:
    plan = giusto.plan(path, compare=True)
    print(plan)
    print()
    tightest = min(plan.contracts, key=lambda contract: contract.slack_ns)
    print(f"Where the time of {tightest.client} on {tightest.topic} goes, at most:")
    for part in tightest.parts:
        print(f"  {part.name:<24} {part.ns / 1e3:8.1f} µs  {part.label}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "scenario.toml")
