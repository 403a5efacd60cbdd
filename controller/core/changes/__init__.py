"""How events change the state, beyond the state machines and the ledger: one function for each kind of event."""
