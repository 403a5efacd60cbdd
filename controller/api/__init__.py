"""The daemon's HTTP API and what it shows: requests, live events, the picture of the table, metrics."""
