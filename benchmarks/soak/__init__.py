"""Contracts under fire: a live broker, floods, stalls and broken offers beside it: `make soak`."""
