"""The pure core: the rules of the game where cards are handled. No clock, no disk, no network, no chance."""
