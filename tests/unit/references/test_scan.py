"""What is a reference and what is not, by example; ``@`` and ``#`` stand for the kind of a bare path."""

import pytest

from promptuary.base.references import Reference
from promptuary.references.resolve import classify
from promptuary.references.scan import MAX_BARE, MAX_REFERENCES, MAX_VALUE, scan
from promptuary.workspace.disk.root import Root
from promptuary.workspace.workspace import Workspace
from tests.conftest import Files

Found = list[tuple[str, ...]]

A = ("file", "a.py")
B = ("file", "b.py")


def brief(references: tuple[Reference, ...]) -> Found:
    return [
        (one.sigil if one.bare else one.kind, one.value, one.suffix)[: 3 if one.suffix else 2] for one in references
    ]


KINDS: list[tuple[str, Found]] = [
    ("@file:a.py", [A]),
    ("@folder:src", [("folder", "src")]),
    ("@folder:src/", [("folder", "src/")]),
    ("@folder:.", [("folder", ".")]),
    ("@folder:..", [("folder", "..")]),
    ("(@folder:.)", [("folder", ".")]),
    ("@folder:./src", [("folder", "./src")]),
    ("@folder:src:contents", [("folder", "src:contents")]),
    ('@folder:"my docs":contents', [("folder", "my docs", ":contents")]),
    ("@glob:src/**/*.py", [("glob", "src/**/*.py")]),
    ("@glob:*", [("glob", "*")]),
    ("@glob:src/*", [("glob", "src/*")]),
    ("@glob:**/*.{ts,tsx}", [("glob", "**/*.{ts,tsx}")]),
    ("@glob:[a-z]*.md", [("glob", "[a-z]*.md")]),
    ("@git:3", [("git", "3")]),
    ("@git:main..HEAD", [("git", "main..HEAD")]),
    ("@git:HEAD~3..HEAD", [("git", "HEAD~3..HEAD")]),
    ("@git:HEAD@{1}", [("git", "HEAD@{1}")]),
    ("@git:@{u}..", [("git", "@{u}")]),
    ("@commit:a1b2c3d", [("commit", "a1b2c3d")]),
    ("@url:https://example.com/a?b=c#d", [("url", "https://example.com/a?b=c#d")]),
    ("@url:https://en.wikipedia.org/wiki/A_(b)", [("url", "https://en.wikipedia.org/wiki/A_(b)")]),
    ("@url:https://x.io/@ann?q=@bob&r=1", [("url", "https://x.io/@ann?q=@bob&r=1")]),
    ("@symbol:Class.method", [("symbol", "Class.method")]),
    ("@symbol:a.py#func", [("symbol", "a.py#func")]),
    ("@diff", [("diff", "")]),
    ("@staged", [("staged", "")]),
    ("@status", [("status", "")]),
    ("@diff @staged", [("diff", ""), ("staged", "")]),
    ("@diff, then fix", [("diff", "")]),
    ("@diff.", [("diff", "")]),
    ("@diff: what changed?", [("diff", "")]),
    ("what does @diff do?", [("diff", "")]),
    ("(@staged)", [("staged", "")]),
    ("@status!", [("status", "")]),
    ("@diff's size", [("diff", "")]),
    ("**@diff**", [("diff", "")]),
    # Kinds are read in either case.
    ("@FILE:a.py", [A]),
    ("@File:A.py", [("file", "A.py")]),
    ("@DIFF", [("diff", "")]),
    # A bare path is a candidate, whatever it is.
    ("@a.py", [("@", "a.py")]),
    ("@src/a.py", [("@", "src/a.py")]),
    ("@./a.py", [("@", "./a.py")]),
    ("@../a.py", [("@", "../a.py")]),
    ("@.env.example", [("@", ".env.example")]),
    ("@_a.py", [("@", "_a.py")]),
    ("@src/", [("@", "src/")]),
    ("@Makefile", [("@", "Makefile")]),
    ('@"my file.md"', [("@", "my file.md")]),
    ('@"my file.md":10-20', [("@", "my file.md", ":10-20")]),
    ("@a.py:10", [("@", "a.py:10")]),
    ("@a.py#L10", [("@", "a.py#L10")]),
    ("@diff-tool", [("@", "diff-tool")]),
    ("@diff.py", [("@", "diff.py")]),
    ("@diff/x", [("@", "diff/x")]),
    ("@status_code", [("@", "status_code")]),
    ("#a.py", [("#", "a.py")]),
    ("#src/index.ts", [("#", "src/index.ts")]),
    ("#Dockerfile", [("#", "Dockerfile")]),
    ("#docker/Dockerfile", [("#", "docker/Dockerfile")]),
    ("#.gitignore", [("#", ".gitignore")]),
    ("#a.test.ts", [("#", "a.test.ts")]),
    ("#_x.ts", [("#", "_x.ts")]),
    ("#./a.ts #../b.ts", [("#", "./a.ts"), ("#", "../b.ts")]),
    ("#a.ts,#b.ts", [("#", "a.ts"), ("#", "b.ts")]),
    ("#a.ts:42", [("#", "a.ts:42")]),
    ("#a.ts#L10-L20", [("#", "a.ts#L10-L20")]),
    ("#a.py#func", [("#", "a.py#func")]),
    ("#ü/naïve.md", [("#", "ü/naïve.md")]),
    ("#app/[id]/page.tsx", [("#", "app/[id]/page.tsx")]),
    ("#app/(group)/page.tsx", [("#", "app/(group)/page.tsx")]),
    ("#packages/@scope/x.ts", [("#", "packages/@scope/x.ts")]),
    ('#"my file.md"', [("#", "my file.md")]),
    (r'#"a \"b\".md"', [("#", 'a "b".md')]),
]

RANGES_AND_QUOTES: list[tuple[str, Found]] = [
    ("@file:a.py:10", [("file", "a.py:10")]),
    ("@file:a.py:10-25", [("file", "a.py:10-25")]),
    ("@file:a.py:10-", [("file", "a.py:10-")]),
    ("@file:a.py:-25", [("file", "a.py:-25")]),
    ("@file:a.py:42:7", [("file", "a.py:42:7")]),
    ("@file:a.py:10:1-25:4", [("file", "a.py:10:1-25:4")]),
    ("@file:a.py:1-3,7,9-", [("file", "a.py:1-3,7,9-")]),
    ("@file:a.py#L42", [("file", "a.py#L42")]),
    ("@file:a.py#L10-L25", [("file", "a.py#L10-L25")]),
    ("@file:a.py#Class.method", [("file", "a.py#Class.method")]),
    ("@file:a.py:10.", [("file", "a.py:10")]),
    ("@file:a.py:10, please", [("file", "a.py:10")]),
    ("(@file:a.py:10-20)", [("file", "a.py:10-20")]),
    ('@file:"my file.md"', [("file", "my file.md")]),
    ("@file:'my file.md'", [("file", "my file.md")]),
    ("@file:`my file.md`", [("file", "my file.md")]),
    ('@file:"my file.md":10', [("file", "my file.md", ":10")]),
    ('@file:"my file.md":10-20', [("file", "my file.md", ":10-20")]),
    ("@file:'my file.md':10-", [("file", "my file.md", ":10-")]),
    ("@file:`my file.md`:-20", [("file", "my file.md", ":-20")]),
    ('@file:"my file.md":42:7', [("file", "my file.md", ":42:7")]),
    ('@file:"my file.md":10:1-25:4', [("file", "my file.md", ":10:1-25:4")]),
    ('@file:"my file.md":1,3-5', [("file", "my file.md", ":1,3-5")]),
    ('@file:"my file.md"#L10', [("file", "my file.md", "#L10")]),
    ('@file:"my file.md"#L10-L25', [("file", "my file.md", "#L10-L25")]),
    ('@file:"my file.py"#Class.method', [("file", "my file.py", "#Class.method")]),
    # What follows the quotes but is no range belongs to the sentence.
    ('@file:"my file.md".', [("file", "my file.md")]),
    ('@file:"my file.md": see', [("file", "my file.md")]),
    ('@file:"my file.md":-', [("file", "my file.md")]),
    ('@file:"my file.py"#func.', [("file", "my file.py", "#func")]),
    ('@file:"my file.md":10.', [("file", "my file.md", ":10")]),
    ('@file:"my file.md":10, then', [("file", "my file.md", ":10")]),
    ('(@file:"my file.md")', [("file", "my file.md")]),
    ('@file:"a.py",@file:"b.py"', [A, B]),
    ('@file:"a.py"@file:"b.py"', [A, B]),
    # Quotes of one sort hold the others; a backslash keeps a double quote and itself.
    ('@file:"it\'s.md"', [("file", "it's.md")]),
    ("@file:'say \"hi\".md'", [("file", 'say "hi".md')]),
    ('@file:`it\'s "so".md`', [("file", 'it\'s "so".md')]),
    (r'@file:"a \"b\" c.md"', [("file", 'a "b" c.md')]),
    (r'@file:"a\\b.md"', [("file", r"a\b.md")]),
    (r'@file:"src\new\app.py"', [("file", r"src\new\app.py")]),
    ('@file:"all three: \\" \' `.md"', [("file", "all three: \" ' `.md")]),
    ("@file:'src\\new\\'", [("file", "src\\new\\")]),
    ("@file:don't.md", [("file", "don't.md")]),
    ("@file:a.py:", [A]),
    ("@file:a.py`", [A]),
    ("@file:#1.md", [("file", "#1.md")]),
    ("@file:@scope/a.json", [("file", "@scope/a.json")]),
    ("@file:icon@2x.png", [("file", "icon@2x.png")]),
    ("@file:图标@2x.png", [("file", "图标@2x.png")]),
    ("@file:C#/x.cs", [("file", "C#/x.cs")]),
    ("@file:app/[id]/page.tsx", [("file", "app/[id]/page.tsx")]),
    ("@file:app/(auth)/page.tsx", [("file", "app/(auth)/page.tsx")]),
]

SENTENCES: list[tuple[str, Found]] = [
    ("see @file:a.py", [A]),
    ("see @file:a.py.", [A]),
    ("see @file:a.py, and", [A]),
    ("see @file:a.py; and", [A]),
    ("see @file:a.py!", [A]),
    ("see @file:a.py?", [A]),
    ("see @file:a.py?!...", [A]),
    ("see @file:a.py…", [A]),
    ("see @file:a.py—it is wrong", [A]),
    ("see—@file:a.py", [A]),
    ("(@file:a.py)", [A]),
    ("(see @file:a.py).", [A]),
    ("(see @folder:a(b)).", [("folder", "a(b)")]),
    ("[@file:a.py]", [A]),
    ("{@file:a.py}", [A]),
    ("<@file:a.py>", [A]),
    ("<code>@file:a.py</code>", [A]),
    ('"@file:a.py"', [A]),
    ("'@file:a.py'", [A]),
    ("“@file:a.py”", [A]),
    ("‘@file:a.py’", [A]),
    ("«@file:a.py»", [A]),
    ("„@file:a.py“", [A]),
    ("‹@file:a.py›", [A]),
    ("@file:a.py's tests", [A]),
    ("@file:a.py’s tests", [A]),
    ("@file:a.py,@file:b.py", [A, B]),
    ("@file:a.py;@file:b.py", [A, B]),
    ("@file:a.py, @file:b.py.", [A, B]),
    ("@file:a.py(@file:b.py)", [A, B]),
    ("(@file:a.py)(@file:b.py)", [A, B]),
    ("@file:a.py\n@file:b.py", [A, B]),
    ("@file:a.py\r\n@file:b.py\r\n", [A, B]),
    ("@file:a.py\t@file:b.py", [A, B]),
    ("@file:a.py\xa0@file:b.py", [A, B]),
    ("@file:a.py\u2028@file:b.py", [A, B]),
    ('["@file:a.py","@file:b.py"]', [A, B]),
    ("['@file:a.py','@file:b.py']", [A, B]),
    ('{"x": "@file:a.py"}', [A]),
    ("x=@file:a.py", [A]),
    ("cc:@file:a.py", [A]),
    ("*@file:a.py*", [A]),
    ("**@file:a.py**", [A]),
    ("_@file:a.py_", [A]),
    ("__@file:a.py__.", [A]),
    ("~~@file:a.py~~", [A]),
    ("**@glob:*.py**", [("glob", "*.py")]),
    ("- @file:a.py", [A]),
    ("* @file:a.py", [A]),
    ("1. @file:a.py", [A]),
    ("- [ ] @file:a.py", [A]),
    ("> @file:a.py", [A]),
    ("# @file:a.py", [A]),
    ("| @file:a.py | @file:b.py |", [A, B]),
    ("|@file:a.py|@file:b.py|", [A, B]),
    ("[x](y) @file:a.py", [A]),
    ("x@y.z @file:a.py", [A]),
    ("https://x.io @file:a.py", [A]),
    ("https://x.io，@file:a.py", [A]),
    ("(#a.ts)", [("#", "a.ts")]),
    ("see #src/index.ts.", [("#", "src/index.ts")]),
    ("#a.py's", [("#", "a.py")]),
    ("@a.py, @b.py", [("@", "a.py"), ("@", "b.py")]),
    ("@bob: look at @file:a.py", [("@", "bob"), A]),
    ("@TODO(@file:a.py)", [("@", "TODO"), A]),
    ("I 💛 @file:a.py", [A]),
    ("💛@file:a.py💛", [("file", "a.py💛")]),
    ("👉@file:a.py 👈", [A]),
    # Scripts that set no spaces.
    ("看@file:a.py", [A]),
    ("看看@file:a.py，谢谢", [A]),
    ("看看@file:a.py。", [A]),
    ("看看@file:a.py的代码", [A]),
    ("@file:a.py和@file:b.py的代码", [A, B]),
    ("看看@file:a.py:10-20的代码", [("file", "a.py:10-20")]),
    ("（@file:a.py）", [A]),
    ("「@file:a.py」を見て", [A]),
    ("【@file:a.py】", [A]),
    ("《@file:a.py》", [A]),
    ("@file:a.py、@file:b.py", [A, B]),
    ("@file:a.pyを見て", [A]),
    ("ファイル@file:a.py", [A]),
    ("@file:a.py를 봐", [A]),
    ("파일@file:a.py", [A]),
    ("\u1111\u1161\u110b\u1175\u11af@file:a.py", [A]),
    ("ดูไฟล์@file:a.pyแล้วแก้", [A]),
    ("ဖိုင်@file:a.py။", [A]),
    ("ឯកសារ@file:a.py។", [A]),
    ("@diff的改动", [("diff", "")]),
    ("看@diff。", [("diff", "")]),
    ("@file:文档/说明.md", [("file", "文档/说明.md")]),
    ("@file:报告v2最终.md", [("file", "报告v2最终.md")]),
    ("@file:説明.md、", [("file", "説明.md")]),
    ('@file:"a.py的副本.md"', [("file", "a.py的副本.md")]),
    # Scripts that run from right to left, in which a particle may stand at the sigil.
    ("انظر @file:a.py، من فضلك", [A]),
    ("انظر @file:a.py؟", [A]),
    ("و@file:a.py", [A]),
    ("ראה @file:a.py.", [A]),
    ("ב@file:a.py", [A]),
    ("\u2067@file:a.py\u2069", [A]),
    ("देखो @file:a.py।", [A]),
    ("տես @file:a.py։", [A]),
    ("@file:می\u200cخواهم.md", [("file", "می\u200cخواهم.md")]),
    ("@file:a.py\u200b", [A]),
    ("\ufeff@file:a.py", [A]),
]

AROUND_CODE: list[tuple[str, Found]] = [
    ("`x` @file:a.py", [A]),
    ("`x` @file:a.py `y`", [A]),
    ("`@file:x` @file:a.py `@file:y`", [A]),
    ("``@file:x ` y`` @file:a.py", [A]),
    ("`a``@file:x` @file:a.py", [A]),
    ("a ` @file:a.py", [A]),
    ("a `` b ` @file:a.py", [A]),
    ("`\n\n@file:a.py`", [A]),
    ("````` @file:a.py `````", [A]),
    ("````` @file:a.py ````", [A]),
    ("`\n \t\n@file:a.py`", [A]),
    (r"\`@file:a.py\`", [A]),
    (r"\` @file:a.py \`", [A]),
    ("```\n@file:x\n```\n@file:a.py", [A]),
    ("```py\n@file:x\n```\n@file:a.py", [A]),
    ("~~~\n@file:x\n~~~\n@file:a.py", [A]),
    ("````\n```\n@file:x\n````\n@file:a.py", [A]),
    ("```\n@file:x\n`````  \n@file:a.py", [A]),
    ("text\n  ```\n  @file:x\n  ```\n@file:a.py", [A]),
    ("> ```\n> @file:x\n> ```\n@file:a.py", [A]),
    ("```\n~~~\n```\n@file:a.py", [A]),
    ("``` x ``` @file:a.py", [A]),
    ("```\r\n@file:x\r\n```\r\n@file:a.py\r\n", [A]),
    ("`\r\n\r\n@file:a.py`", [A]),
    ("x\n```@file:y``` @file:a.py", [A]),
    ("@file:a.py\n```\n@file:x\n```\n@file:b.py", [A, B]),
    ("[@file:x](y) @file:a.py", [A]),
    ("[#x.ts](#x-ts) #y.ts", [("#", "y.ts")]),
]


@pytest.mark.parametrize(("text", "expected"), KINDS + RANGES_AND_QUOTES + SENTENCES + AROUND_CODE)
def test_these_are_references(text: str, expected: Found) -> None:
    found = scan(text)

    assert brief(found) == expected
    assert [one.raw for one in found] == [text[one.start : one.end] for one in found]


def test_what_stands_around_a_reference_makes_no_difference() -> None:
    framed = [
        (frame.format(text), expected)
        for text, expected in KINDS + RANGES_AND_QUOTES
        for frame in ("first line\n{}\nlast", "({} )")
    ]

    assert [text for text, expected in framed if brief(scan(text)) != expected] == []


FILES = {
    "README.md": "",
    "Makefile": "",
    "package.json": "{}",
    "src/app.py": "",
    "src/index.ts": "",
    "src/net/core.py": "",
    "docs/guide.md": "",
    "tests/test_app.py": "",
    "types/index.d.ts": "",
    "a.ts": "",
    "b.ts": "",
    "ok.ts": "",
    "net.core": "",
    "sec.html": "",
    "example.com": "",
    "github.com": "",
    "v4": "",
}
"""Some of these are baits: a part of the text that is no reference names a file."""

ADDRESSES_AND_HANDLES = r"""
me@example.com
me+tag@example.com
first.last@example.com
mailto:me@example.com
<me@example.com>
rené@example.com
почта@example.com
@alice
@alice, can you look?
hey @alice!
@alice: please look
@alice's idea
cc @alice @bob @team/core
@alice/@bob
@alice_b
@alice-b
@a@b.social
@alice@example.com
@123
meet @ 5pm
meet me @ the office
a @ b
@
@@
@@@
"@"
'@'
@ file:src/app.py
@.
@..
@...
@,
@-
@!
@(x)
@?
@@src/app.py
user@host:src/app.py
git@github.com:org/repo
git@github.com:org/repo.git
ssh://git@github.com/org/repo.git
scp a.ts me@host:b.ts
root@localhost:~#
https://x.io/@alice
https://x.io/@alice/src/app.py
https://user:pw@github.com/x
https://x.io/p#sec.html
http://x.io/#sec.html
HTTPS://X.IO/#sec.html
ftp://x.io/#sec.html
https://x.io/?a=@src/app.py
file:///home/me/@src/app.py
https://medium.com/@alice/title-123
https://example.com/@file:src/app.py
vscode://file/@file:src/app.py
http://x/(@file:a)
twitter.com/@alice
tel:@555
"""

PACKAGES_AND_VERSIONS = r"""
@types/node
npm i @types/node
npm i @babel/core@7.0.0
"@angular/core": "^17"
@scope/pkg
import x from "@/components/x"
import x from '@scope/pkg'
pkg@1.2.3
react@latest
actions/checkout@v4
uses: actions/checkout@v4
docker/build-push-action@v5
@org//pkg:target
@maven//:com_google_guava
@bazel_tools//tools/cpp:toolchain
//src:app@v4
pip install pkg @ git+https://github.com/x/y
pkg @ file:///tmp/x.whl
pkg@git+https://github.com/x/y@v4
image@sha256:abcdef0123456789
nginx:1.25@sha256:abcdef
go get example.com/x@v4
brew install python@3.11
HEAD@{1}
main@{upstream}
git show HEAD@{2.days.ago}
git diff @{u}
git diff @~1
systemctl start getty@tty1
3:00@home
"""

CODE_WITHOUT_MARKS = r"""
@property
@dataclass(frozen=True)
@app.route("/x")
@pytest.mark.parametrize("a", [1])
@functools.lru_cache(maxsize=None)
@staticmethod
@a.setter
@Override
@SuppressWarnings("unchecked")
@Autowired private Foo foo;
@Test(expected = X.class)
@param x the value
@param {string} x
@returns {Promise<void>}
@deprecated use b
@author me
@see Foo#bar
@see #bar
{@link Foo#bar}
@file Overview of this
@file
@file:
@file: an overview
@file:,
@file:...
@file: "x"
@file:"unclosed
@file:'unclosed
@file:`unclosed
@file:`unclosed``
@file:""
@file:''
@url:
@url: https
@folder:)
@git:
@media (max-width: 600px) { }
@import url("a.css");
@font-face { }
@keyframes x { }
@charset "utf-8";
@supports (display: grid)
@user = 1
@user_id
@user.name
@status = :open
@status ||= :open
@diff += 1
@status(404)
@diff(a, b)
@diffs
@statuses
@stagedfile
@diff-tool
@diff.tool
@diff/tool
@status_code
@status:404
@ſtatus
@ſtaged
@ﬁle:src/app.py
@instance_var
@@class_var
@end
@interface Foo : NSObject
@selector(foo:)
@"string"
NSLog(@"x");
%@
$@
"$@"
${@}
${@:2}
printf "%@"
DECLARE @var INT
SELECT @var := 1
SET @x = 1;
@var1 + @var2
WHERE a @> b
a <@ b
a @@ b
arr @ other
x@y
x @= y
@echo off
@echo @user
@if x
@Html.Raw(x)
@model Foo
@{ var x = 1; }
@* comment *@
@(foo)
@[id]
@~/x
@/etc/passwd
@\src
@plugin:value
@bob:src/app.py
@nosuchkind:"a b"
"""

HASHES = r"""
x#a.ts
C#net.core
C#
F# and C#
C#:
foo#bar
a/#b.ts
issue #1.2
#v1.2.3
#fff.css
#fff
#FFFFFF
color: #fff;
#1e1e1e, #eee
#123
(#123)
fixes #123, #124.
org/repo#123
#hashtag #123 #region
#hashtag
#région
#日本
# a.ts
## a.ts
### a.ts
##a.ts
###a.ts
#
##
#!
#!/bin/bash
#!/usr/bin/env python
#a.
#src/
#...
#..
#.
#/etc/passwd.txt
#~/x.txt
#\a.ts
#include <stdio.h>
#include "stdio.h"
#define X 1
#pragma once
#region Foo
#endregion
#if DEBUG
#nullable enable
#pragma warning disable
#[derive(Debug)]
#![allow(x)]
#{interpolation}
"#{name}"
#-x.ts
#+begin_src
#%%
#: comment
#comment
#TODO: x
#@todo
&#8217;
&#x2019;
&#a.ts;
a&#b.ts
$#
${#arr}
[#ok.ts](#ok-ts)
[#ok.ts](#ok.ts)
[x](#ok.ts)
[x](docs/guide.md#a.ts)
see [#a.ts](#a-ts) and [#b.ts](#b-ts)
[@file:src/app.py](#src-app-py)
[@file:src/app.py](https://x.io)
page.html#a.ts
/#/route
/#a.ts
+#a.ts
.#a.ts
-#a.ts
@#a.ts
#@a.ts
#"string"#
#""
"""

ESCAPED_OR_CODE = r"""
\@file:src/app.py
\\@file:src/app.py
\@src/app.py
\#a.ts
(\@file:src/app.py)
\@diff
`@file:src/app.py`
`@diff`
`#a.ts`
`@app.route("/")`
``@file:src/app.py``
```@file:src/app.py```
````@file:src/app.py````
`x @file:src/app.py y`
`` ` @file:src/app.py ` ``
`x``@file:src/app.py``x`
**`@file:src/app.py`**
| `@file:src/app.py` |
- `@src/app.py`
> `#a.ts`
(`@file:src/app.py`)
`C:\`, `@file:src/app.py`
me@file:src/app.py
a/@file:src/app.py
.@file:src/app.py
1@file:src/app.py
é@file:src/app.py
ж@file:src/app.py
x@diff
$@diff
"""

LONGER = [
    "`a\n@file:src/app.py`",
    "```\n@file:src/app.py\n```",
    "```\n@file:src/app.py",
    "x\n```python\n@property\n@file:src/app.py\n```\n",
    "~~~\n@file:src/app.py\n~~~",
    "~~~ `x`\n@file:src/app.py\n~~~",
    "~~~~\n~~~\n@file:src/app.py\n~~~~",
    "````\n```\n@file:src/app.py\n```\n````",
    "  ```\n  @file:src/app.py\n  ```",
    "- x\n\n    ```\n    @file:src/app.py\n    ```",
    "> ```\n> @file:src/app.py\n> ```",
    "```\n``` x\n@file:src/app.py\n```",
    "```\n~~~\n@file:src/app.py\n```",
    "```\r\n@file:src/app.py\r\n",
    "@file:" + "x" * (MAX_VALUE + 1),
    '@file:"' + "x" * (MAX_VALUE + 1) + '"',
    "@file:\n",
    '@file:"a\nb"',
    "@file:\0",
    '@file:"a\0b"',
    "@" + "x" * (MAX_VALUE + 1),
]

NEGATIVE = [
    line
    for table in (ADDRESSES_AND_HANDLES, PACKAGES_AND_VERSIONS, CODE_WITHOUT_MARKS, HASHES, ESCAPED_OR_CODE)
    for line in table.strip().split("\n")
]


@pytest.fixture(scope="module")
def baited(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("baited")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return Workspace(Root(folder))


@pytest.mark.parametrize("text", NEGATIVE + LONGER)
def test_these_are_not_references(text: str, baited: Workspace) -> None:
    found = scan(text)

    assert [one for one in found if not one.bare] == []
    assert classify(found, baited) == []


def test_what_is_no_reference_does_not_become_one_inside_a_text(baited: Workspace) -> None:
    framed = [frame.format(text) for text in NEGATIVE for frame in ("first line\n{}\nlast", "so: {} and more")]

    assert [text for text in framed if classify(scan(text), baited)] == []


def test_there_are_enough_examples() -> None:
    assert len(KINDS + RANGES_AND_QUOTES + SENTENCES + AROUND_CODE) >= 150
    assert len(NEGATIVE) >= 150


def test_a_bare_path_counts_if_it_exists(files: Files) -> None:
    workspace = Workspace(Root(files(FILES)))
    text = "@src/app.py, @alice, @src (#a.ts) #src @docs/guide.md:1 #nothing @nothing.ts @types/node"

    assert [(one.kind, one.value) for one in classify(scan(text), workspace)] == [
        ("file", "src/app.py"),
        ("folder", "src"),
        ("file", "a.ts"),
        ("file", "docs/guide.md"),
    ]


def test_pasted_text_is_not_looked_into() -> None:
    text = "fix @file:a.py PASTED @file:x PASTED then @file:b.py"
    pasted = (text.index("PASTED"), text.rindex("PASTED") + 6)

    assert brief(scan(text, skip=[pasted])) == [A, B]


def test_marks_of_code_in_pasted_text_do_not_hide_what_was_typed() -> None:
    pasted = "a ` b\n```\nc"

    assert brief(scan(f"{pasted} @file:a.py", skip=[(0, len(pasted))])) == [A]


def test_a_fence_typed_around_pasted_text_is_code() -> None:
    text = "```\n@file:x\n```\n@file:a.py"

    assert brief(scan(text, skip=[(4, 12)])) == [A]


def test_a_reference_does_not_reach_into_pasted_text() -> None:
    text = '@file:a.py and @file:"x y" @file:z'

    assert brief(scan(text, skip=[(8, 10)])) == [("file", "x y"), ("file", "z")]
    assert brief(scan(text, skip=[(22, 24), (0, 3), (1, 2), (20, 23)])) == [("file", "z")]
    assert brief(scan('@diff and @file:"a.py"@diff', skip=[(3, 5), (23, 25)])) == [A]


def test_other_kinds_can_be_asked_for() -> None:
    text = "@memory:x @file:a.py @diff"

    assert brief(scan(text, kinds=frozenset({"memory"}))) == [("memory", "x"), ("@", "file:a.py"), ("diff", "")]


def test_the_number_of_references_is_limited() -> None:
    assert len(scan("@file:a.py " * (MAX_REFERENCES + 5))) == MAX_REFERENCES


def test_a_long_list_of_handles_does_not_hide_a_reference() -> None:
    found = scan("@alice #123 " * MAX_BARE + "@file:a.py @diff")

    assert len(found) == MAX_BARE + 2
    assert brief(found[-2:]) == [A, ("diff", "")]


def test_a_value_may_be_as_long_as_a_path() -> None:
    name = "x" * MAX_VALUE

    assert brief(scan(f"@file:{name} @file:'{name}'")) == [("file", name), ("file", name)]
