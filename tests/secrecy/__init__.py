"""No hidden card leaves the table, in any game: its description (controller/games/*/play.py) says what is hidden."""
