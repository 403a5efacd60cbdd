"""The games, as data."""
