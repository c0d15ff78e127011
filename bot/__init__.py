"""Slack, the workflow, and the wiring."""
