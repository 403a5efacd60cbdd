"""How simulated devices are connected: ptys, TCP, USB, virtual wires."""
