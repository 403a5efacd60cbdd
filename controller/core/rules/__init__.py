"""The rules of the table, a module for each group of clauses."""
