"""Slack on the way in, by kind: each module acknowledges, reads, and calls the workflow."""
