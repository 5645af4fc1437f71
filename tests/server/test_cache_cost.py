"""Under a provider's prompt cache, references and memory cost little more than their own tokens."""

from bench.caching import costs


def test_a_session_of_a_coding_agent_costs_at_most_a_quarter_more_through_the_proxy() -> None:
    alone, with_proxy, in_front = costs()

    assert with_proxy <= 1.25 * alone
    assert in_front > 2 * alone  # where memory is not put, and why
