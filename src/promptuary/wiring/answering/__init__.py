"""Who answers: the models that the person named, and the tools that they may call."""
