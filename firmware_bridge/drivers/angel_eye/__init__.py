"""The Angel Eye II-EX, a shoe that reads the cards that a dealer draws from it."""
