"""Tests of firmware_bridge."""
