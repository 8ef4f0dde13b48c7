"""What is printed: texts, names of types, command lines, colours."""
