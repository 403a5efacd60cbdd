"""The real daemon, killed: at every write and every send of a round, and at random instants. `make test-crash`."""
