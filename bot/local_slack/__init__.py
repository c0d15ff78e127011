"""A Slack on this machine, for the demo and for the end-to-end tests."""
