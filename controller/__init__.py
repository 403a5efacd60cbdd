"""The controller of a table: daemon, command line, rules and journal."""
