"""Dragon Baccarat Tournament. The description of the game is in play.py."""
