"""Dragon Poker. The description of the game is in play.py."""
