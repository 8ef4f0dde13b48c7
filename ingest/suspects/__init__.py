"""Leak suspects: piles of objects, what holds them, and the words for both."""
