"""Every planted defect, every kind of tampering, and everything campaigns ever found. `make test-campaign`."""
