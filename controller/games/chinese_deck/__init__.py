"""Dragon Poker with the Chinese deck. The description of the game is in play.py."""
