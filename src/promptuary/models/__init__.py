"""Models that Promptuary can use and does not need: embedders."""
