"""The package on a real Debian in an emulated machine: `make test-appliance`."""
