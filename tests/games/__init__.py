"""Tests of the games: hands, payouts and odds."""
