"""The screen in a real browser: `make test-browser`. Not part of `make test`."""
