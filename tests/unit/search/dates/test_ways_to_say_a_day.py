"""Ways to name a day, by language, for somebody who asks on Friday, the 20th of November 2026."""

from datetime import UTC, date, datetime, timedelta

import pytest

from promptuary.search.dates.question import time_hint

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
TODAY = NOW.date()

SAID = {
    "2026-11-20": "today; heute; heute Morgen; aujourd'hui; hoy; hoje; oggi; vandaag; 今日; 今天",
    "2026-11-19": "yesterday; last night; gestern; gestern Abend; hier soir; ayer; anoche; ontem; ieri; gisteren; "
    "gisteravond; "
    "昨日; 昨天; きのう; on Thursday; last Thursday; letzten Donnerstag; am vergangenen Donnerstag; jeudi dernier; "
    "el jueves pasado; el pasado jueves; na quinta-feira; quinta-feira passada; giovedì scorso; lo scorso giovedì; "
    "afgelopen donderdag; vorige donderdag; 木曜日; 周四; 星期四; one day ago; vor einem Tag; il y a un jour; "
    "hace un día; há um dia; un giorno fa; een dag geleden; 1日前; 一天前",
    "2026-11-18": "the day before yesterday; vorgestern; avant-hier; anteayer; antes de ayer; anteontem; l'altro ieri; "
    "eergisteren; 一昨日; おととい; 前天; two days ago; vor zwei Tagen; il y a 2 jours; hace dos días; dos días atrás; "
    "há dois dias; due giorni fa; twee dagen geleden; 2日前; ２日前; 两天前; 二日前",
    "2026-11-12": "last week on Thursday; Thursday last week; Donnerstag letzter Woche; letzte Woche Donnerstag; "
    "jeudi de la semaine dernière; el jueves de la semana pasada; quinta-feira da semana passada; "
    "giovedì della settimana scorsa; donderdag vorige week; vorige week donderdag; 先週の木曜日; 先週木曜; 上周四; "
    "上个星期四; 上星期四; 上禮拜四",
    "2026-11-09": "11 days ago; eleven days ago; vor 11 Tagen; vor elf Tagen; il y a 11 jours; il y a onze jours; "
    "hace 11 días; hace once días; há 11 dias; há onze dias; 11 giorni fa; undici giorni fa; 11 dagen geleden; "
    "elf dagen geleden; 11日前; 十一日前; 11天前; 十一天前",
    "2026-09-03": "2026-09-03; on 2026-09-03; 3 September; September 3; on September 3rd; on the 3rd of September; "
    "3 September 2026; September 3, 2026; Sept. 3; 3 Sep; am 3. September; 3. September 2026; am 3.9.; am 03.09.2026; "
    "3.9.2026; vom 3. Sept.; le 3 septembre; 3 septembre 2026; el 3 de septiembre; 3 de septiembre de 2026; "
    "em 3 de setembro; no dia 3 de setembro de 2026; il 3 settembre; 3 settembre 2026; op 3 september; "
    "3 september 2026; 9月3日; 2026年9月3日; 九月三日; 9月3号; 2026/09/03",
    "2026-11-03": "on the 3rd",
    "2026-11-21": "tomorrow; morgen; demain; mañana; amanhã; domani; 明日; 明天",
    "2026-11-26": "next Thursday; nächsten Donnerstag; jeudi prochain; el próximo jueves; prossimo giovedì; "
    "volgende donderdag",
}
LONGER = {
    ("2026-11-09", "2026-11-16"): "last week; letzte Woche; la semaine dernière; la semana pasada; semana passada; "
    "la settimana scorsa; la scorsa settimana; vorige week; afgelopen week; 先週; 上周; 上个星期",
    ("2026-11-14", "2026-11-16"): "last weekend; letztes Wochenende; le week-end dernier; el fin de semana pasado; "
    "fim de semana passado; lo scorso weekend; vorig weekend; 先週末; 上周末",
    (
        "2026-10-01",
        "2026-11-01",
    ): "last month; im Oktober; le mois dernier; en octubre; no mês passado; il mese scorso; "
    "vorige maand; in oktober; 先月; 上个月; 10月; 十月",
    (
        "2025-01-01",
        "2026-01-01",
    ): "last year; letztes Jahr; l'année dernière; el año pasado; ano passado; l'anno scorso; "
    "vorig jaar; 去年; 昨年; 2025年",
    ("2026-09-03", ""): "since 3 September; seit dem 3. September; depuis le 3 septembre; desde el 3 de septiembre; "
    "desde 3 de setembro; dal 3 settembre; sinds 3 september; 9月3日から; 9月3日以来",
    (
        "",
        "2026-06-01",
    ): "before June; vor Juni; avant juin; antes de junio; antes de junho; prima di giugno; voor juni; 6月以前",
}
NONE = """
Guten Morgen
jeden Morgen
por la mañana
Goedemorgen
how do I format today's date
get yesterday's date
every Thursday
jeden Donnerstag
tous les jeudis
Black Friday
no Friday deploys
hier ist der Fehler
wat gebeurt hier niet
version 3.11.
use Python 3.9.2026a
毎週木曜日
一周
日本の月
a march through
the Dutch zon
in 3 days of work
give it 5 stars
the second act
a quinta coluna
""".strip().splitlines()


def meant(text: str) -> tuple[str, str]:
    hint = time_hint(text, NOW)
    return tuple(  # type: ignore[return-value]
        "" if at is None else datetime.fromtimestamp(at, UTC).date().isoformat() for at in (hint.since, hint.until)
    )


@pytest.mark.parametrize(("day", "said"), [(day, said) for day, every in SAID.items() for said in every.split("; ")])
def test_a_day_is_understood(day: str, said: str) -> None:
    expected = day, (date.fromisoformat(day) + timedelta(1)).isoformat()

    assert meant(said) == expected
    assert meant(f"Rohr {said}?") == expected


@pytest.mark.parametrize(
    ("days", "said"), [(days, said) for days, every in LONGER.items() for said in every.split("; ")]
)
def test_a_longer_time_is_understood(days: tuple[str, str], said: str) -> None:
    assert meant(said) == days


@pytest.mark.parametrize("text", NONE)
def test_what_only_looks_like_a_day_is_none(text: str) -> None:
    assert meant(text) == ("", "")


@pytest.mark.parametrize(
    ("text", "coming"),
    [
        ("on Monday", "2026-11-23"),
        ("am Montag", "2026-11-23"),
        ("on 3 December", "2026-12-03"),
        ("12月3日", "2026-12-03"),
        ("last Monday", None),
        ("since Monday", None),
        ("on 3 December 2025", None),
        ("yesterday", None),
    ],
)
def test_a_day_without_a_year_may_also_be_the_next_one(text: str, coming: str | None) -> None:
    found = time_hint(text, NOW).coming

    assert (None if found is None else datetime.fromtimestamp(found, UTC).date().isoformat()) == coming
