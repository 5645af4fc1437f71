"""The views of experiences, over real HTTP."""

import json
from typing import Any

import pytest

from promptuary.client import BlockingClient
from promptuary.experiences.decay import PRUNE_BELOW
from promptuary.experiences.values import Experience
from promptuary.server.page.experiences import build_curve
from tests.server.conftest import StartServer
from tests.server.visitors import Visitor


@pytest.fixture
def visitor(start_server: StartServer) -> Visitor:
    return Visitor(start_server(settings={"embedder": "none"}))


def add(visitor: Visitor, intent: str, **fields: Any) -> Experience:
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        found: Experience = p.experiences.add("task_solution", intent, "do it", **fields)
        return found


def test_experiences_are_listed_with_their_strength_and_filtered(visitor: Visitor) -> None:
    add(visitor, "build the <app>", tags=["build"])
    add(visitor, "release it", outcome="failure", problem="no key")

    page = visitor.get("/experiences").body.decode()

    assert "build the &lt;app&gt;" in page
    listed = json.loads(visitor.get("/experiences.json").body)
    assert [one["strength"] for one in listed["experiences"]] == [1.0, 1.0]
    assert "release it" not in visitor.text("/experiences?tag=build")
    assert "build the" not in visitor.text("/experiences?outcome=failure")
    assert "release it" in visitor.text("/experiences?q=release")
    assert visitor.get("/experiences?outcome=so-so").status == 400


def test_many_experiences_come_in_parts(visitor: Visitor) -> None:
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        for number in range(55):
            p.experiences.add("task_solution", f"task {number}", str(number))

    first = json.loads(visitor.get("/experiences.json").body)
    second = json.loads(visitor.get(f"/experiences.json?cursor={first['following']}").body)

    assert [len(page["experiences"]) for page in (first, second)] == [50, 5]
    assert second["following"] == ""
    assert "Used longer ago" in visitor.text("/experiences")


def test_one_experience_is_shown_with_its_decay(visitor: Visitor) -> None:
    one = add(visitor, "build it")

    page = visitor.get(f"/experiences/{one.id}")

    assert page.status == 200, page.body
    assert b'<polyline class="decay"' in page.body
    value = json.loads(visitor.get(f"/experiences/{one.id}.json").body)
    assert value["experience"]["id"] == one.id
    assert value["curve"]["strength"] == 1.0


def test_the_curve_falls_by_half_in_each_half_life_and_says_when_it_is_too_weak() -> None:
    one = Experience(
        "id", "task_solution", "x", None, "2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z", "r", "f", half_life_days=10
    )

    curve = build_curve(one, "2026-02-20T00:00:00Z")

    assert curve.strength == 0.25
    heights = [1 - float(point.split(",")[1]) / curve.height for point in curve.points.split()]
    assert heights[0] == pytest.approx(1, abs=0.01)
    assert heights == sorted(heights, reverse=True)
    assert heights[-1] < PRUNE_BELOW
    assert curve.used < curve.now < curve.width
    # 43 days: 10 times the logarithm of 1/0.05 to the base of 2.
    assert curve.ends[:10] == "2026-03-15"


def test_feedback_a_use_and_forgetting_are_one_button_each(visitor: Visitor) -> None:
    one = add(visitor, "build it")
    path, token = f"/experiences/{one.id}", visitor.form_token()

    assert visitor.send(f"{path}/used", form_token=token).status == 303
    assert visitor.send(f"{path}/feedback", form_token=token, feedback="wrong").status == 303
    assert visitor.send(f"{path}/feedback", form_token=token, feedback="lovely").status == 400

    known = json.loads(visitor.get(f"{path}.json").body)["experience"]
    assert (known["use_count"], known["success_score"]) == (2, 0.5)
    assert visitor.send(f"{path}/forget", form_token=token).headers["location"] == "/experiences"
    assert visitor.get(path).status == 404


def test_who_may_only_read_changes_nothing(visitor: Visitor) -> None:
    one = add(visitor, "build it")
    reader = Visitor(visitor.server, scopes=frozenset({"read"}))

    assert "Mark used" not in reader.text(f"/experiences/{one.id}")
    assert "Mark used" in visitor.text(f"/experiences/{one.id}")
    for form in ("used", "feedback", "forget"):
        assert reader.send(f"/experiences/{one.id}/{form}", form_token=reader.form_token()).status == 403


def test_without_experiences_the_page_says_where_they_come_from(visitor: Visitor) -> None:
    assert "No experience yet" in visitor.text("/experiences")
    assert "promptuary experience add" in visitor.text("/experiences")
