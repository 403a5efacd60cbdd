"""The wire to the devices: frames, link, session (all pure), and the serial and USB transports under them."""
