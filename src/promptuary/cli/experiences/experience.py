"""``promptuary experience``: stores, finds, rates and deletes experiences."""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from promptuary.base.clock import now
from promptuary.base.errors import PromptuaryError, UnknownExperienceError
from promptuary.base.text import counted, one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import can_ask, confirm, message, open_workspace, print_json, print_new_notes, standard_input
from promptuary.cli.experiences.printing import experience_table, full_text, hit_text, strength_plot
from promptuary.cli.memory.printing import DONE, NOTHING, say, say_what_stays
from promptuary.cli.memory.words import do_each
from promptuary.cli.search.hits import query_words
from promptuary.cli.terminal import cut
from promptuary.experiences.values import MIN_CONFIDENCE, PREFERENCE, Experience, ExperienceFields, ExperienceResult
from promptuary.present.experiences import experience_json, experience_list_json, experience_search_json, prune_json
from promptuary.search.query import only_near
from promptuary.search.values import note_text

_NONE_YET: Final = "no experiences yet: turns with tools record them, and promptuary experience add stores one"


def main(options: argparse.Namespace) -> int:
    """Run one action on experiences."""
    with open_workspace(options) as promptuary:
        try:
            code = _ACTIONS[options.action](promptuary, options)
        except UnknownExperienceError as error:
            say(f"promptuary: {error}")
            code = NOTHING
        print_new_notes(promptuary, options)
    return code


def add(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Store an experience, or a preference."""
    if options.solution == "-" and (not options.text or options.text == ["-"]):
        raise PromptuaryError("the text and --solution cannot both come from standard input; give one as an argument")
    text, fields = message(options, kept=True).strip(), _fields(options)
    if options.prefer is not None:
        if options.solution is not None or options.type is not None:
            raise PromptuaryError("--prefer cannot be combined with --solution or --type")
        stored = promptuary.experiences.track_preference(options.prefer, text, **fields)
    else:
        stored = promptuary.experiences.add(
            options.type or "task_solution", text, _solution(options.solution), **fields
        )
    _print_changed([stored], options)
    again = f"already known, now used {stored.use_count} times" if stored.use_count > 1 else "stored"
    say(f"{again}; promptuary experience forget {stored.id} removes it", quiet=options.quiet or options.json)
    if options.prefer is not None:
        for line in _about_preference(promptuary, stored):
            say(line, quiet=options.quiet or options.json)
    return DONE


def _about_preference(promptuary: Promptuary, stored: Experience) -> Iterator[str]:
    """Yield notes on a preference: which others lost confidence, and when turns will include it."""
    category = _category(stored)
    for one in promptuary.experiences.list(type=PREFERENCE).experiences:
        if one.id != stored.id and category and _category(one) == category:
            yield f"{one_line(one.intent)} contradicts it, and now has confidence {one.confidence:.2f}"
    if stored.confidence < MIN_CONFIDENCE:
        yield (
            f"its confidence is {stored.confidence:.2f}, and turns include it from {MIN_CONFIDENCE}: add it again, "
            f"or run promptuary experience feedback helped {stored.id}"
        )


def _category(one: Experience) -> str:
    named = one.solution.get("category") if isinstance(one.solution, Mapping) else None
    return named.casefold() if isinstance(named, str) else ""


def _fields(options: argparse.Namespace) -> ExperienceFields:
    fields: ExperienceFields = {"tags": options.tag or ()}
    if options.outcome:
        fields["outcome"] = options.outcome
    if options.problem is not None:
        fields["problem"] = options.problem
    if options.score is not None:
        fields["success_score"] = options.score
    return fields


def _solution(given: str | None) -> Any:
    """Return a solution: the parsed JSON, or the text if it is not JSON."""
    text = standard_input().decode("utf-8", "replace").strip() if given == "-" else given
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return text


def find(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Print the experiences most similar to a text."""
    query = message(options).strip()
    if not query:
        raise PromptuaryError("no search words given; pass them as arguments or pipe them to stdin")
    result = promptuary.experiences.find_similar(
        query,
        options.tag or (),
        options.limit,
        type=options.type,
        outcome=options.outcome,
        strict_tags=options.strict_tags,
        lexical_only=options.lexical,
    )
    if options.json:
        print_json(experience_search_json(query, result, explain=options.explain))
    elif result.hits:
        words = query_words(query)
        each_hit = enumerate(result.hits, 1)
        print("\n\n".join(hit_text(number, hit, words, explain=options.explain) for number, hit in each_hit))
    _say_how(promptuary, query, result, options)
    return DONE if result.hits else NOTHING


def _say_how(promptuary: Promptuary, query: str, result: ExperienceResult, options: argparse.Namespace) -> None:
    for note in result.notes:
        say(f"note: {note_text(note)}", quiet=options.quiet)
    if only_near(query, result):
        say("no experience seems similar; showing the nearest ones", quiet=options.quiet)
    if not result.hits and promptuary.experiences.list(limit=0).total:
        asked = cut(one_line(query), 60)
        say(f"no experience found for {asked}: use other words, or run promptuary experience list", quiet=options.quiet)
    elif not result.hits:
        say(_NONE_YET, quiet=options.quiet)


def list_experiences(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """List experiences, or plot their strength."""
    wanted = promptuary.experiences.list(
        type=options.type, tags=options.tag or (), outcome=options.outcome, limit=options.limit
    )
    if options.json:
        print_json(experience_list_json(wanted, now()))
    elif wanted.experiences:
        print(strength_plot(wanted.experiences, now()) if options.plot else experience_table(wanted.experiences, now()))
    if len(wanted.experiences) < wanted.total:
        shown = f"{len(wanted.experiences):,} of {wanted.total:,} experiences"
        say(f"{shown}; --limit N shows more", quiet=options.quiet)
    if not wanted.experiences:
        say(_why_none(promptuary), quiet=options.quiet)
    return DONE if wanted.experiences else NOTHING


def _why_none(promptuary: Promptuary) -> str:
    if promptuary.experiences.list(limit=0).total:
        return "no experience matches the filters; relax them"
    return _NONE_YET


def show(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Print experiences in full."""
    shown, all_there = do_each(_names(options), lambda name: _there(promptuary, name))
    if options.json:
        print_json({"experiences": [experience_json(one, now()) for one in shown]})
    elif shown:
        print("\n\n".join(full_text(one, now()) for one in shown))
    return DONE if all_there else NOTHING


def feedback(promptuary: Promptuary, options: argparse.Namespace) -> int:
    changed, all_there = do_each(_names(options), lambda name: promptuary.experiences.feedback(name, options.feedback))
    _print_changed(changed, options)
    return DONE if all_there else NOTHING


def decay(promptuary: Promptuary, options: argparse.Namespace) -> int:
    changed = promptuary.experiences.apply_decay(options.half_life)
    if options.json:
        print_json({"changed": changed, "half_life_days": options.half_life})
    else:
        print(f"updated the strength of {counted(changed, 'experience')} (half-life: {options.half_life:g} days)")
    return DONE


def prune(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Remove weak experiences."""
    report = promptuary.experiences.prune_expired(options.min_weight, dry_run=options.dry_run)
    if options.json:
        print_json(prune_json(report, now()))
    elif report.experiences:
        print(experience_table(report.experiences, now()))
    count, what = len(report.experiences), "removed" if report.done else "would remove"
    say(f"{what} {counted(count, 'experience')} weaker than {report.min_weight:g}", quiet=options.quiet)
    return DONE


def forget(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Remove experiences permanently."""
    given = _names(options)
    if not (options.yes or can_ask()):
        for name in given:
            _there(promptuary, name)  # an unknown experience is the first thing to report
        raise PromptuaryError("experience forget cannot be undone; add --yes to confirm")
    kept = []

    def forgotten(name: str) -> Experience:
        one = _there(promptuary, name)
        if not confirm(f"Forget {one.id} ({cut(one_line(one.intent), 60)}) permanently?", options):
            kept.append(one)
            return one
        return promptuary.experiences.forget(one.id)

    done, all_there = do_each(given, forgotten)
    gone = [one for one in done if one not in kept]
    if options.json:
        print_json({"experiences": [experience_json(one, now()) for one in gone]})
    for one in () if options.json else gone:
        print(f"{one.id}  {one_line(one.intent)}")
    if gone:
        say_what_stays(promptuary.settings, quiet=options.quiet)
    return DONE if all_there and not kept else NOTHING


def _there(promptuary: Promptuary, name: str) -> Experience:
    one = promptuary.experiences.get(name)
    if one is None:
        raise UnknownExperienceError(f"there is no experience {name[:80]!r}; `promptuary experience list` shows them")
    return one


def _names(options: argparse.Namespace) -> Sequence[str]:
    piped = standard_input().decode("utf-8", "replace").split() if "-" in options.words else []
    given = [*(word for word in options.words if word != "-"), *piped]
    if not given:
        action = options.action
        raise PromptuaryError(f"experience {action} needs an id: promptuary experience {action} --help")
    return given


def _print_changed(changed: Sequence[Experience], options: argparse.Namespace) -> None:
    if options.json:
        print_json({"experiences": [experience_json(one, now()) for one in changed]})
    elif changed:
        print(experience_table(changed, now()))


_ACTIONS: Final[Mapping[str, Callable[[Promptuary, argparse.Namespace], int]]] = {
    "add": add,
    "find": find,
    "list": list_experiences,
    "show": show,
    "feedback": feedback,
    "decay": decay,
    "prune": prune,
    "forget": forget,
}
