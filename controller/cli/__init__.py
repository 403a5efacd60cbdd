"""The commands `shoectl` and `shoed`."""
