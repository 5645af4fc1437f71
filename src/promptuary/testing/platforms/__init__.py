"""Chat platforms on loopback, for tests of gateways, ours and yours: the platforms' own clients talk to them."""
