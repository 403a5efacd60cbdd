"""Builds the Debian package, and the Debian systems in which it is built and tested."""
