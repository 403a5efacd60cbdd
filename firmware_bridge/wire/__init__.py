"""Bytes to messages and back: frame, packet, link, messages, session. Pure."""
