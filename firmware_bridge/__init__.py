"""Talks to the devices: the protocol (wire), serial and USB ports, the connection, and technicians' tools."""
