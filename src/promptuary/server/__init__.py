"""``promptuary serve``: a workspace over HTTP. ``proxy/`` stands in front of model services."""
