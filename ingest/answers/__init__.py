"""Answers of the library's queries from the tables of a dump, without a database.

A query that has a function in `FUNCTIONS` gives the same rows here as its Cypher does
on the dump alone in a database; a test compares both. The query's header says what the
rows are; the function has its name, and `HeapView.completed` adds what follows from the
objects of the rows.
"""
