"""The running table: configuration, journal, clock, devices and people, put together by `Daemon`."""
