"""The commands `shoed` and `shoectl`."""
