"""Edits a note, or what a proposal would write, in the person's editor."""

from promptuary.core.notes import Note
from promptuary.core.writeback import Proposal, ProposalFields
from promptuary.memory.memory import Memory
from promptuary.memory.writeback.proposals import Proposals
from promptuary.workspace.programs.editor import edited_copy


def edit_note(memory: Memory, key: str, *, reason: str) -> Note:
    """Let the person edit a note, and return it."""
    return memory.edit(key, edited_copy, reason=reason)


def edit_proposal(proposals: Proposals, proposal: str, fields: ProposalFields) -> Proposal:
    """Change what a proposal would write; without fields, the person edits its text."""
    return proposals.edit(proposal, **fields) if fields else proposals.edit_text(proposal, edited_copy)
