"""What any format may use."""
