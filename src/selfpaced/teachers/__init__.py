"""Teachers: each chooses contexts, and knows nothing of who learns. One curriculum a file."""
