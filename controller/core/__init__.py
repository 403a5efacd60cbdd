"""The pure core: decides what happens at the table, by the rules for handling cards.

It uses no clock, disk, network or random numbers: the same reports at the same times give the same decisions.
"""
