"""Drivers for devices that have a protocol of their own. Pure: bytes and time in, bytes and reports out."""
