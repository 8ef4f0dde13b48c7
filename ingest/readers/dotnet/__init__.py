"""What the .NET formats and the live capture share."""
