"""The real daemon for thousands of rounds: what it takes of the machine must not grow. `make soak`."""
