"""The experience store: what is learnt is found again, weaker with time, stronger with use, and forgotten for good."""

from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from promptuary.base.errors import ConfigError, PromptuaryError, UnknownExperienceError
from promptuary.base.principals import LOCAL, Principal
from promptuary.blocking import Promptuary
from promptuary.experiences.decay import PRUNE_BELOW
from promptuary.experiences.experiences import Experiences
from promptuary.layers.layer import LayerState, StateKey
from promptuary.search.values import IndexRebuilt, vector_space_id
from promptuary.testing.word_embedder import WordEmbedder
from promptuary.threads.records import ThreadChange
from tests.experiences import Clock, Laboratory, intents
from tests.suites.forgetting import turn_with

EVE = Principal("eve")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Laboratory]:
    with closing(Laboratory(tmp_path / "lab")) as lab:
        yield lab


@pytest.fixture
def own(lab: Laboratory) -> Experiences:
    return lab.of()


def test_what_was_added_is_found_by_other_words_of_the_same_thing(tmp_path: Path) -> None:
    with closing(Laboratory(tmp_path / "lab", WordEmbedder())) as lab:
        lab.of().add("task_solution", "build the docs", "make docs")
        lab.of().add("task_solution", "rotate the logs", "logrotate")
        found = lab.of().find_similar("how do I build docs?")

        assert intents(found)[0] == "build the docs"
        assert (found.mode, found.hits[0].why.matched) == ("hybrid", ("build", "docs"))


def test_b2_a_hit_by_words_alone_survives(own: Experiences) -> None:
    """B2: in the original, what only words found scored below the least score, and was always dropped."""
    own.add("task_solution", "build the docs", "make docs")

    assert intents(own.find_similar("docs")) == ["build the docs"]
    assert own.find_similar("docs").answers


def test_b2_a_better_match_scores_higher(own: Experiences) -> None:
    own.add("task_solution", "build the docs of the api for a release", "make api")
    own.add("task_solution", "build the docs", "make docs")
    own.add("task_solution", "build a boat", "saw")
    found = own.find_similar("build the docs")

    assert intents(found)[0] == "build the docs"
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


@pytest.mark.parametrize(
    "query", ['"docs', "docs'", "docs AND (", "docs:^~-", "NOT docs OR", "docs; DROP TABLE x", "docs\0"]
)
def test_b3_any_characters_are_a_query(own: Experiences, query: str) -> None:
    """B3: a question with a quote broke the syntax of the full-text search."""
    own.add("task_solution", "build the docs", "make docs")

    assert intents(own.find_similar(query)) == ["build the docs"]


@pytest.mark.parametrize("query", ["", " ", "???", "\ud800", "¿"])
def test_a_query_without_words_finds_nothing(own: Experiences, query: str) -> None:
    own.add("task_solution", "build the docs", "make docs")

    assert own.find_similar(query).hits == []


@pytest.mark.parametrize(
    ("intent", "query"),
    [("データベースを移行する", "移行"), ("部署到生产环境", "生产环境"), ("데이터베이스 이전", "데이터베이스")],
)
def test_b3_writing_without_spaces_is_found(own: Experiences, intent: str, query: str) -> None:
    own.add("task_solution", intent, "x")
    own.add("task_solution", "build the docs", "make docs")

    assert intents(own.find_similar(query)) == [intent]


def test_what_went_wrong_is_found_by_its_message(own: Experiences) -> None:
    own.add("error_recovery", "install the packages", "use a mirror", outcome="failure", problem="SSLCertificateError")

    assert intents(own.find_similar("SSLCertificateError")) == ["install the packages"]


def test_b9_nothing_of_another_owner_is_found(lab: Laboratory) -> None:
    """B9: the original searched the experiences of all users."""
    lab.of(EVE).add("task_solution", "build the docs", "rm -rf /")

    assert lab.of().find_similar("build the docs").hits == ()
    lab.of().add("task_solution", "build the boat", "saw")
    assert intents(lab.of().find_similar("build the docs")) == ["build the boat"]
    assert intents(lab.of(EVE).find_similar("build")) == ["build the docs"]


def test_b9_a_failure_is_an_experience_too(own: Experiences) -> None:
    """B9: the original knew no experience of what did not work."""
    own.add("task_solution", "deploy on friday", "push", outcome="failure", problem="nobody was there")
    (hit,) = own.find_similar("deploy on friday", outcome="failure").hits

    assert (hit.experience.outcome, hit.experience.problem) == ("failure", "nobody was there")
    assert own.find_similar("deploy on friday", outcome="success").hits == []


def test_b9_the_same_again_is_one_row(own: Experiences) -> None:
    """B9: the original added a row each time."""
    for number in range(5):
        own.add("tool_chain", "Find the todos!", {"tools": [{"name": "grep", "arguments": {"n": number}}]})

    assert own.stats().total == 1
    (one,) = own.list().experiences
    assert (one.use_count, one.solution["tools"][0]["arguments"]) == (5, {"n": 4})


def test_the_strong_come_before_the_weak_among_equals(lab: Laboratory) -> None:
    own = lab.of()
    own.add("task_solution", "build the docs quickly", "a")
    own.settle()  # of equals, the one that was indexed first would come first
    lab.clock.days = 90
    own.add("task_solution", "build the docs slowly", "b")
    found = own.find_similar("build the docs")

    assert intents(found) == ["build the docs slowly", "build the docs quickly"]
    assert [round(hit.strength, 3) for hit in found.hits] == [1.0, 0.125]


def test_success_counts_among_equals_and_never_more_than_relevance(own: Experiences) -> None:
    own.add("task_solution", "build the docs quickly", "a", success_score=0.1)
    own.settle()  # of equals, the one that was indexed first would come first
    own.add("task_solution", "build the docs slowly", "b", success_score=0.9)
    own.add("task_solution", "build a boat", "c", success_score=1.0)

    assert intents(own.find_similar("build the docs")) == [
        "build the docs slowly",
        "build the docs quickly",
        "build a boat",
    ]


def test_what_shares_tags_is_preferred_and_with_strict_tags_alone_returned(own: Experiences) -> None:
    own.add("task_solution", "build the docs quickly", "a", tags=["make"])
    own.settle()
    own.add("task_solution", "build the docs slowly", "b", tags=["Sphinx", "python"])
    found = own.find_similar("build the docs", ["sphinx"])

    assert intents(found) == ["build the docs slowly", "build the docs quickly"]
    assert [hit.shared_tags for hit in found.hits] == [("sphinx",), ()]
    assert intents(own.find_similar("build the docs", ["SPHINX"], strict_tags=True)) == ["build the docs slowly"]
    assert own.find_similar("build the docs", ["none"], strict_tags=True).hits == []


def test_a_search_is_restricted_to_a_type(own: Experiences) -> None:
    own.add("task_solution", "build the docs", "a")
    own.add("acme.plan", "build the docs", "a")

    assert [hit.experience.type for hit in own.find_similar("docs", type="acme.plan").hits] == ["acme.plan"]


def test_the_weak_are_not_found_and_a_use_brings_them_back(lab: Laboratory) -> None:
    own = lab.of()
    one = own.add("task_solution", "build the docs", "make docs")
    own.settle()  # it is in the index, and must not be found all the same
    lab.clock.days = 131

    assert own.find_similar("docs").hits == []
    assert own.mark_used(one.id).weight == 1.0
    assert intents(own.find_similar("docs")) == ["build the docs"]


def test_what_was_too_weak_when_the_index_was_made_is_found_after_a_use(tmp_path: Path) -> None:
    clock = Clock()
    with closing(Laboratory(tmp_path / "lab", clock=clock)) as lab:
        one = lab.of().add("task_solution", "build the docs", "make docs")
        lab.of().add("task_solution", "build a boat", "saw")
    clock.days = 131
    (tmp_path / "lab" / "index-user-local-default").rename(tmp_path / "old index")
    with closing(Laboratory(tmp_path / "lab", clock=clock)) as lab:
        assert lab.of().find_similar("build").hits == []
        lab.of().mark_used(one.id)
        assert intents(lab.of().find_similar("build")) == ["build the docs"]


@settings(max_examples=15)
@given(data=st.data())
def test_fewer_hits_are_the_first_of_more(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    words = st.sampled_from(["build", "docs", "boat", "index", "fast", "移行"])
    wanted = st.lists(words, min_size=1, max_size=5).map(" ".join)
    with closing(Laboratory(tmp_path_factory.mktemp("lab"), data.draw(st.sampled_from([None, WordEmbedder()])))) as lab:
        own = lab.of()
        for number in range(data.draw(st.integers(1, 12))):
            tags, score = data.draw(st.lists(words, max_size=2)), data.draw(st.floats(0, 1))
            own.add("task_solution", data.draw(wanted), number, tags=tags, success_score=score)
        query, tags = data.draw(wanted), data.draw(st.lists(words, max_size=2))
        most = [hit.experience.id for hit in own.find_similar(query, tags, 80).hits]

        for limit in range(len(most) + 1):
            assert [hit.experience.id for hit in own.find_similar(query, tags, limit).hits] == most[:limit]


def test_fewer_hits_are_the_first_of_more_beyond_what_is_ranked(own: Experiences) -> None:
    for number in range(75):
        own.add("task_solution", f"build part {number}", number, success_score=number / 75)
    most = [hit.experience.id for hit in own.find_similar("build", limit=80).hits]

    assert len(most) == 75
    for limit in (1, 19, 20, 21, 22, 74):
        assert [hit.experience.id for hit in own.find_similar("build", limit=limit).hits] == most[:limit]


def test_a_preference_gains_by_repetition_and_loses_by_contradiction(own: Experiences) -> None:
    tabs = own.track_preference("indentation", "tabs")
    own.track_preference("Indentation", "Tabs")
    spaces = own.track_preference("indentation", "spaces")
    other = own.track_preference("editor", "vim")

    def sure(key: str) -> float | None:
        found = own.get(key)
        return None if found is None else round(found.confidence, 3)

    assert [sure(one.id) for one in (tabs, spaces, other)] == [0.26, 0.4, 0.4]
    assert own.stats().total == 3


def test_decay_is_the_same_daily_or_once_and_readers_see_no_difference(tmp_path: Path) -> None:
    """B8, in a database."""

    def weights(*days: int) -> list[tuple[float, float]]:
        with closing(Laboratory(tmp_path / f"lab-{len(days)}")) as lab:
            own = lab.of()
            one = own.add("task_solution", "build the docs", "make docs")
            lab.clock.days = 10
            own.add("task_solution", "build a boat", "saw", weight=0.5)
            for day in days:
                lab.clock.days = day
                own.apply_decay(30)
            assert own.strength(one) == pytest.approx(0.5)
            return [(found.weight, own.strength(found)) for found in own.list().experiences]

    assert weights(*range(1, 31)) == weights(30)


def test_another_half_life_counts_from_the_last_use(lab: Laboratory) -> None:
    own = lab.of()
    one = own.add("task_solution", "build the docs", "make docs")
    lab.clock.days = 10

    assert own.apply_decay(10) == 1
    assert own.apply_decay(10) == 0
    found = own.get(one.id)
    assert found is not None
    assert (found.weight, own.strength(found)) == (0.5, 0.5)


@pytest.mark.parametrize("days", [0, -1, float("nan"), float("inf"), "30"])
def test_a_half_life_is_a_number_of_days(own: Experiences, days: float) -> None:
    with pytest.raises(ConfigError, match="half_life_days is a number"):
        own.apply_decay(days)


def test_pruning_removes_what_is_weak_and_says_it_first(lab: Laboratory) -> None:
    own = lab.of()
    one = own.add("task_solution", "build the docs", "make docs")
    lab.clock.days = 129
    assert own.prune_expired().experiences == []
    lab.clock.days = 131
    kept = own.add("task_solution", "build a boat", "saw")

    planned = own.prune_expired(dry_run=True)
    assert ([each.id for each in planned.experiences], planned.done) == ([one.id], False)
    assert own.stats().total == 2
    assert [each.id for each in own.prune_expired().experiences] == [one.id]
    assert [each.id for each in own.list().experiences] == [kept.id]
    assert own.prune_expired(PRUNE_BELOW).experiences == []


def test_pruning_touches_nobody_elses(lab: Laboratory) -> None:
    lab.of(EVE).add("task_solution", "build the docs", "make docs")
    lab.clock.days = 999

    assert lab.of().prune_expired(1.0).experiences == []
    assert lab.of(EVE).stats().total == 1


def test_what_is_judged_wrong_loses_its_place(own: Experiences) -> None:
    first = own.add("task_solution", "build the docs quickly", "a")
    own.settle()
    own.add("task_solution", "build the docs slowly", "b")
    own.feedback(first.id, "wrong")

    assert intents(own.find_similar("build the docs")) == ["build the docs slowly", "build the docs quickly"]
    with pytest.raises(ConfigError, match="feedback is helped, wrong, stale, not 'great'"):
        own.feedback(first.id, "great")  # type: ignore[arg-type]


def test_an_experience_is_named_by_the_beginning_of_its_id(own: Experiences) -> None:
    one = own.add("task_solution", "build the docs", "make docs")

    assert own.get(one.id[:4]) == own.get(one.id) == one
    assert own.get("") is None
    assert own.get("zz") is None
    with pytest.raises(UnknownExperienceError, match="there is no experience 'zz'"):
        own.mark_used("zz")


def test_a_beginning_that_several_have_is_refused(own: Experiences) -> None:
    ids = sorted(own.add("task_solution", f"build part {number}", number).id for number in range(40))
    shared = next(one[:1] for one, other in pairwise(ids) if one[0] == other[0])

    with pytest.raises(ConfigError, match="is the beginning of"):
        own.get(shared)


def test_no_byte_of_what_is_forgotten_is_left(tmp_path: Path) -> None:
    with closing(Laboratory(tmp_path / "lab", WordEmbedder())) as lab:
        own = lab.of()
        one = own.add("task_solution", "feed the unicorn", "hay", tags=["paddock"], problem="it was a narwhal")
        own.add("task_solution", "build the docs", "make docs")
        own.find_similar("unicorn")
        own.forget(one.id)

        assert intents(own.find_similar("unicorn docs")) == ["build the docs"]
        for file in (tmp_path / "lab").rglob("*"):
            if file.is_file():
                content = file.read_bytes().lower()
                assert not [word for word in (b"unicorn", b"narwhal", b"paddock") if word in content], file.name


def test_what_is_forgotten_goes_out_of_stored_prompts(lab: Laboratory) -> None:
    own = lab.of()
    one = own.add("task_solution", "feed the unicorn", "hay")
    threads = lab.state.threads(LOCAL)
    block = f"# Experience\n\n## Once before\n{one.address}; used today\n\n```\nfeed the unicorn\n```\n\n## Next\nstays"
    threads.apply(ThreadChange("t", turn=turn_with(block)))
    own.forget(one.id)

    found = threads.turn("t")
    assert found is not None
    assert found.messages[0]["content"] == f"# Experience\n\n[forgotten: {one.address}]\n\n## Next\nstays"
    assert found.forgotten == (one.address,)


def test_what_went_wrong_goes_out_of_the_states_of_layers_as_well(lab: Laboratory) -> None:
    own, threads, key = lab.of(), lab.state.threads(LOCAL), StateKey("diary", "thread", "t")
    problem = "It was a narwhal, and it did not eat."
    one = own.add("task_solution", "feed the unicorn in the paddock", "hay", problem=problem)
    seen = [f"so: {one.intent}", f"but: {problem}", 7]
    threads.apply(ThreadChange("t", states=[LayerState(key, 1, {"seen": seen})]))
    own.forget(one.id)

    mark = f"[forgotten: {one.address}]"
    assert threads.states([key]) == (LayerState(key, 1, {"seen": [f"so: {mark}", f"but: {mark}", 7]}),)


def test_no_vector_of_what_is_forgotten_is_left_if_forgetting_breaks_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the index knows which vectors these are, and it follows the store."""
    with closing(Laboratory(tmp_path / "lab", WordEmbedder())) as lab:
        own = lab.of()
        one, other = (own.add("task_solution", f"feed the {animal}", "hay") for animal in ("unicorn", "narwhal"))
        own.find_similar("unicorn")
        space = vector_space_id(WordEmbedder())
        vectors, hashes = own._search.backend.store, own._search.hashes(one.id)
        assert vectors is not None
        assert set(vectors.get(space, hashes)) == set(hashes) != set()

        def kill(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(own._ledger, "redact_note", kill)
        with pytest.raises(KeyboardInterrupt):
            own.forget(one.id)
        assert vectors.get(space, hashes) == {}
        assert vectors.get(space, own._search.hashes(other.id)) != {}


def test_a_damaged_index_is_rebuilt_and_said(tmp_path: Path) -> None:
    with closing(Laboratory(tmp_path / "lab")) as lab:
        lab.of().add("task_solution", "build the docs", "make docs")
    for file in (tmp_path / "lab").rglob("*.db"):
        if file.name != "state.db":
            file.write_bytes(b"broken" * 1000)
    with closing(Laboratory(tmp_path / "lab")) as lab:
        found = lab.of().find_similar("docs")

        assert intents(found) == ["build the docs"]
        assert [*found.notes] in ([], [IndexRebuilt()])


def test_what_another_process_added_is_found_by_the_next(tmp_path: Path) -> None:
    with closing(Laboratory(tmp_path / "lab")) as lab:
        lab.of().add("task_solution", "build the docs", "make docs")
    with closing(Laboratory(tmp_path / "lab")) as lab:
        lab.state.experiences(LOCAL).add(replace(lab.of().list().experiences[0], id="x" * 12, fingerprint="other"))
    with closing(Laboratory(tmp_path / "lab")) as lab:
        assert len(lab.of().find_similar("docs").hits) == 2


def test_what_is_added_in_a_transaction_is_found_when_it_ends(lab: Laboratory) -> None:
    own = lab.of()
    own.add("task_solution", "build a boat", "saw")
    with lab.state.transaction():
        own.add("task_solution", "build the docs", "make docs")
    own.settle()

    assert intents(own.find_similar("docs")) == ["build the docs"]


owners = st.sampled_from([LOCAL, EVE, Principal(agent="other"), Principal("eve", group="team")])
steps = st.lists(st.tuples(owners, st.sampled_from(["add", "same", "prefer", "use", "decay", "prune"])), max_size=20)


@settings(max_examples=15)
@given(done=steps)
def test_whatever_others_do_an_owner_has_only_what_is_theirs(
    done: list[tuple[Principal, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with closing(Laboratory(tmp_path_factory.mktemp("lab"))) as lab:
        mine: dict[Principal, set[str]] = {}
        for number, (who, what) in enumerate(done):
            own, ids = lab.of(who), mine.setdefault(who, set())
            if what == "add":
                ids.add(own.add("task_solution", f"build {number} of {who.owner}", number).id)
            elif what == "same":
                ids.add(own.add("task_solution", "build what everybody builds", "the same").id)
            elif what == "prefer":
                ids.add(own.track_preference("indentation", f"{number}").id)
            elif what == "use":
                for other in lab.opened:
                    for key in mine[other] - ids:
                        assert own.get(key) is None
            elif what == "decay":
                assert own.apply_decay(30) <= len(ids)
            else:
                own.prune_expired(0.0)
        for who, ids in mine.items():
            own = lab.of(who)
            assert {one.id for one in own.list().experiences} == ids
            assert {hit.experience.id for hit in own.find_similar("build indentation", limit=50).hits} <= ids
            assert own.stats().total == len(ids)


def test_a_list_begins_after_an_offset_and_leaves_out_what_has_faded(tmp_path: Path) -> None:
    with Promptuary.open(tmp_path, embedder="none") as p:
        for name in ("first", "second", "third"):
            p.experiences.add("task_solution", f"the {name} task", f"make {name}")
        every = p.experiences.list()
        weakest = min(p.experiences.list().experiences, key=lambda one: one.base_weight)
        for _ in range(5):
            p.experiences.feedback(weakest.id, "wrong")

        assert every.total == 3
        assert p.experiences.list(offset=1, limit=1).experiences == p.experiences.list().experiences[1:2]
        assert (p.experiences.list(offset=5).experiences, p.experiences.list(offset=5).total) == ([], 3)
        strong = p.experiences.list(min_weight=0.3)
        assert (weakest.id not in {one.id for one in strong.experiences}, strong.total) == (True, 2)
        with pytest.raises(PromptuaryError, match="offset is how many"):
            p.experiences.list(offset=-1)
