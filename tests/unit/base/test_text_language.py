"""Which language a text is in, by its script and its commonest words."""

import pytest

from promptuary.base.text_language import passage_language, question_language

GERMAN = "Der Schlüssel liegt beim Nachbarn, weil wir im Sommer nicht da sind. Er gießt auch die Blumen."


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The key is with the neighbours because we are not there in summer. They water the flowers, too."),
        ("de", GERMAN),
        ("fr", "La clé est chez les voisins parce que nous ne sommes pas là en été. Ils arrosent aussi les fleurs."),
        ("es", "La llave la tienen los vecinos porque en verano no estamos. También riegan las flores del balcón."),
        ("it", "La chiave è dai vicini perché d'estate non ci siamo. Annaffiano anche i fiori della terrazza."),
        ("pt", "A chave está com os vizinhos porque não estamos cá no verão. Eles também regam as flores."),
        ("nl", "De sleutel ligt bij de buren omdat wij in de zomer weg zijn. Zij geven ook de bloemen water."),
        ("pl", "Klucz jest u sąsiadów, bo latem nas nie ma. Podlewają też kwiaty, które są na balkonie."),
        ("ja", "夏は留守なので、鍵は隣の人に預けてあります。花に水もやってくれます。"),
        ("zh", "夏天我们不在家，所以钥匙放在邻居那里，他们也会浇花。"),
        ("ko", "여름에는 집에 없어서 열쇠는 이웃에게 맡겼습니다."),
        ("Cyrl", "Ключ у соседей, потому что летом нас нет дома."),
    ],
)
def test_a_passage_has_the_language_of_its_script_or_of_its_commonest_words(language: str, text: str) -> None:
    assert passage_language(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-11-02 17:00 | 210.00 | 4471",
        "PostgreSQL, Kubernetes, Redis",
    ],
)
def test_numbers_and_names_say_nothing_about_a_language(text: str) -> None:
    assert passage_language(text) == ""


def test_code_is_not_in_the_language_of_its_comments() -> None:
    code = "def lines(path):\n    # die Zeilen der Datei\n    with open(path) as file:\n        yield from file\n"

    assert passage_language(code) in {"", "en"}


def test_a_passage_with_names_in_another_script_has_the_language_of_the_rest() -> None:
    assert passage_language("PostgreSQLのインデックスはBerichteのために必要です。チームもよく知っています。") == "ja"
    assert passage_language("The sign said 東京 and the train to 横浜 was late, so we took the bus from there.") == "en"


def test_the_middle_of_a_long_passage_says_what_its_beginning_does_not() -> None:
    assert passage_language("| a1 | b2 | c3 |\n" * 50 + GERMAN * 9) == "de"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "where is the key for the front door"),
        ("de", "Wo liegt Annas Schlüssel?"),
        ("fr", "Qui a la clé de la maison ?"),
        ("es", "¿Dónde están las llaves?"),
        ("nl", "Waar ligt de sleutel?"),
        ("ja", "鍵はどこ"),
        ("", "Rechnung Mai"),
        ("", "weather Los Angeles"),
        ("en", "what is the Der Spiegel archive"),
    ],
)
def test_a_question_has_a_language_only_if_it_is_sure(language: str, text: str) -> None:
    assert question_language(text) == language
