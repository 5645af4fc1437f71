"""The prompts of a chat: with menus, meter and folded pastes, or line by line."""
