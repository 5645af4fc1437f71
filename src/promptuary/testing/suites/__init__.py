"""Conformance suites: the contracts of chat models, as tests for every implementation."""
