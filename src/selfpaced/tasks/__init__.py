"""Tasks: each scores batches of (context, theta) rows. One task a file."""
