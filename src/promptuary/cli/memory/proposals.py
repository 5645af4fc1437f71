"""The actions of ``promptuary memory`` on proposals: list, edit, accept and reject them."""

import argparse
import sys
from collections.abc import Sequence

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import counted, one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import print_json, standard_input
from promptuary.cli.memory.printing import DONE, NOTHING, cut_table, say
from promptuary.cli.memory.words import do_each, names, one_name
from promptuary.cli.memory.writing import edit as edit_note
from promptuary.cli.memory.writing import print_written
from promptuary.cli.terminal import is_terminal
from promptuary.memory.values import is_by_agent
from promptuary.memory.writeback.values import Proposal, ProposalFields
from promptuary.present.notes import proposal_json, proposals_json

_NONE = "no pending proposals: they come from what you state in a turn that got its reply, and from writeback.model"
_SHORTEST = 4
_HEAD = ("id", "would", "why", "note")


def proposals(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Print the pending proposals, and the notes of agents that nobody confirmed."""
    waiting = promptuary.memory.proposals()
    unconfirmed = [one for one in promptuary.memory.unadopted() if is_by_agent(one)]
    if options.json:
        print_json(proposals_json(waiting, unconfirmed))
        return DONE if waiting or unconfirmed else NOTHING
    if waiting or unconfirmed:
        notes = [(one.id, "be trusted", "written by an agent", one_line(one.title)) for one in unconfirmed]
        print(cut_table(_HEAD, [*map(_row, waiting), *notes]))
    else:
        say(_NONE, quiet=options.quiet)
    if waiting:
        say("use promptuary memory accept ID or reject ID; --json prints the full text", quiet=options.quiet)
    if unconfirmed:
        say("promptuary memory adopt ID confirms a note of an agent, archive ID drops it", quiet=options.quiet)
    return DONE if waiting or unconfirmed else NOTHING


def _row(proposal: Proposal) -> tuple[str, str, str, str]:
    return proposal.id, _deed(proposal), _why(proposal), _said(proposal)


def _deed(proposal: Proposal) -> str:
    draft = proposal.draft
    if proposal.action == "archive":
        return f"archive {draft.id}"
    if draft.id is not None:
        return f"change {draft.id}"
    replacing = f", replacing {draft.supersedes}" if draft.supersedes else ""
    return f"write a {draft.kind or 'reference'} note{replacing}"


def _why(proposal: Proposal) -> str:
    origin = "you said it" if proposal.origin == "extract" else "proposed by a model"
    return f"{origin}: {one_line(proposal.reason)[:60]}" if proposal.reason else origin


def _said(proposal: Proposal) -> str:
    draft = proposal.draft
    parts = [part for part in (draft.title, draft.content) if part]
    if len(parts) == 2 and parts[1].startswith(parts[0].rstrip("…")):
        parts = parts[1:]
    return one_line(": ".join(" ".join(part.split()) for part in parts) or proposal.evidence)


def accept(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Accept proposals; a single one may be changed first."""
    chosen, changes = _chosen(promptuary, options), _changes(options)
    if changes and len(chosen) != 1:
        raise PromptuaryError("only one proposal can be changed at a time; pass its id")
    if changes:
        promptuary.memory.edit_proposal(chosen[0], **changes)
    notes, all_done = do_each(chosen, promptuary.memory.accept)
    print_written(notes, options)
    return DONE if all_done and chosen else NOTHING


def edit(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Edit a proposal, in an editor or by flags; or the note of that name."""
    name, changes = one_name(options), _changes(options)
    found = _named(name, [one.id for one in promptuary.memory.proposals()])
    if found is None and changes:
        raise PromptuaryError(f"no pending proposal {name}; use promptuary memory write --id {name} to change a note")
    if found is None:
        return edit_note(promptuary, options)
    if not changes and not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise PromptuaryError(f"memory edit needs a terminal; use promptuary memory edit {found} --content TEXT")
    proposal = promptuary.memory.edit_proposal(found, **changes)
    if options.json:
        print_json(proposal_json(proposal))
    else:
        print(cut_table(_HEAD, [_row(proposal)]))
        say(f"still pending; promptuary memory accept {found} applies it", quiet=options.quiet)
    return DONE


def reject(promptuary: Promptuary, options: argparse.Namespace) -> int:
    def drop(proposal: str) -> str:
        promptuary.memory.reject(proposal)
        return proposal

    dropped, all_done = do_each(_chosen(promptuary, options), drop)
    if options.json:
        print_json({"rejected": dropped})
    else:
        say(f"rejected {counted(len(dropped), 'proposal')}", quiet=options.quiet)
    return DONE if all_done and dropped else NOTHING


def _chosen(promptuary: Promptuary, options: argparse.Namespace) -> Sequence[str]:
    """Return the ids of the selected proposals."""
    if options.words and options.all:
        raise PromptuaryError(f"memory {options.action} takes ids or --all, not both")
    waiting = [one.id for one in promptuary.memory.proposals()]
    if options.all:
        if not waiting:
            say(_NONE, quiet=options.quiet)
        return waiting
    return [_named(name, waiting) or _no_note(promptuary, name) for name in names(options, what="proposal, or --all")]


def _no_note(promptuary: Promptuary, name: str) -> str:
    """Return a name that no proposal has; raise an error that says what to do if it is that of a note."""
    if any(one.id.startswith(name) for one in promptuary.memory.unadopted() if len(name) >= _SHORTEST):
        raise PromptuaryError(
            f"{name} is a note that an agent wrote, or that came with this folder, and no proposal; promptuary memory "
            f"adopt {name} confirms it, archive {name} drops it"
        )
    return name


def _named(name: str, waiting: Sequence[str]) -> str | None:
    """Return the proposal with the prefix ``name``, if there is exactly one."""
    found = [one for one in waiting if len(name) >= _SHORTEST and one.startswith(name)]
    return found[0] if len(found) == 1 else None


def _changes(options: argparse.Namespace) -> ProposalFields:
    found: ProposalFields = {}
    if options.content is not None:
        is_piped = options.content == "-"
        found["content"] = standard_input().decode("utf-8", "replace") if is_piped else options.content
    if options.title is not None:
        found["title"] = options.title
    if options.kind is not None:
        found["kind"] = options.kind
    if options.audience is not None:
        found["audience"] = options.audience
    if options.tag is not None:
        found["tags"] = options.tag
    return found
