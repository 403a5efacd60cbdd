"""The daemon's HTTP API and what it shows: requests, live events, the table's view, metrics."""
