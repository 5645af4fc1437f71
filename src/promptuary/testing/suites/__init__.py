"""Conformance suites: the contracts of ports, as tests for every implementation."""
