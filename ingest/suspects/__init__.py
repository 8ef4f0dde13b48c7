"""Leak suspects: piles of objects, their holders, and the words for both."""
