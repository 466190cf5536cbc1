"""Runs on disk: files, writing, reading, packed results, logbooks, status, health."""
