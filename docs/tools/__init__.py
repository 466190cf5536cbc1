"""Programs that build and check the documentation."""
