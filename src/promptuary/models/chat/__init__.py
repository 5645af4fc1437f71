"""Chat models: the APIs of OpenAI and Anthropic, models of pydantic-ai, and scripted replies."""
