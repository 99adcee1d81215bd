"""giusto beside other brokers, all on this machine and all in one run: `make bench-peers`."""
