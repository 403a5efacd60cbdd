"""Bytes to messages and back: frame, packet, link, session. Pure."""
