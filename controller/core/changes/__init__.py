"""How each event changes the state: one function for each kind that changes more than a machine and the ledger."""
