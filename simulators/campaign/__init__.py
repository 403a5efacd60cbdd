"""A campaign of bad luck: whole tables in virtual time, all that can go wrong, and what must hold all the same."""
