"""The running table: `Daemon` brings configuration, journal, clock, devices and people together."""
