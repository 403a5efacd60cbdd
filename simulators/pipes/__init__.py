"""What simulated devices are connected through: ptys, TCP, USB, virtual wires."""
