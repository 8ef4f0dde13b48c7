"""Printed words: texts, names of types, command lines, colours."""
