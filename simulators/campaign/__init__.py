"""A campaign of bad luck: tables in virtual time, everything that can go wrong, and what must still hold."""
