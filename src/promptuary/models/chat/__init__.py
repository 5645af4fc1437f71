"""Chat models: a service with OpenAI's protocol, and prepared replies."""
