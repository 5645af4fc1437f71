"""Trees whose shape is out of the ordinary."""

from promptuary.references.shorten.tree import Leaf, Tree


def test_a_tree_may_be_deeper_than_programs_can_recurse() -> None:
    path = "a/" * 1_200 + "f.txt"
    tree = Tree("./", [(path, Leaf(1, 1, "1 B"))])

    assert tree.whole().endswith("└── f.txt  1 B\n")
    assert tree.whole().count("a/  (1 file, 1 B, 1 token") == 1_200
    assert "f.txt" not in tree.forms()[len(tree.forms()) // 2 + 1]


def test_each_form_names_one_entry_less_than_the_one_before_once_the_remarks_are_gone() -> None:
    paths = [f"{a}/{b}/{c}.txt" for a in "xyz" for b in range(5) for c in range(9)]
    forms = Tree("./", [(path, Leaf(1, 1, "1 B")) for path in paths]).forms()
    entries = 3 + 15 + 135
    named = [sum("── " in line and "… " not in line for line in forms[n].split("\n")) for n in range(len(forms))]

    assert named == [entries] * entries + list(range(entries - 1, 0, -1))
    assert forms[len(forms) - 1].split("\n")[1:] == ["├── x/  (45 files, 45 B, 45 tokens)", "└── … 2 more", ""]
