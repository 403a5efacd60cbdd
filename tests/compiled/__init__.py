"""`make test-compiled`: what was compiled does the same as what was not."""
