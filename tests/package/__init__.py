"""The Debian package, installed into a machine of its own with a running systemd."""
