"""The web page of ``promptuary serve``: HTML made by the server, which is read without JavaScript.

To add a view, for example ``memory``:

1. Write ``memory.py``: a coroutine for each page, which is given an ``Asked`` and calls methods of ``Promptuary``, as
   the API does; what is missing there is added to ``engine`` and to ``api/endpoints``. It returns a ``View``: a
   template, the value that ``.json`` at the same address answers with, and what else the template needs. A form is
   answered with a ``Redirect``. Errors are raised: a ``PromptuaryError`` or ``Refusal`` becomes a page.
2. End the module with ``PAGES``, a row for each address. "nav" puts it into the navigation. Every GET page gets its
   twin ``.json``. Names in a path come decoded.
3. Add ``*memory.PAGES`` to ``pages.py``, and templates that extend the base template to ``templates/memory/``.
4. In templates: ``{{ url("/notes", key) }}`` makes an address with names encoded; ``{% include "form_token.html" %}``
   goes into every form that posts; ``{{ text | markdown }}`` is sanitised; "n", "signed", "ago", "percent", "money",
   "line", "sentence" and "counted" are filters. No ``style=``, no ``on…=``, no script: the policy of the page
   forbids them. Widths are attributes of SVG.
5. What changes live is an element with ``{{ live("note", "notes") }}``: its id is ``notes``, it is fetched again when
   an event of that kind comes (turn, note, proposal), and merged into what is shown.
6. CSS is in ``static/page.css``; a view has its own section at the end. Use the classes that exist first.
7. The tests of ownership take every row of ``PAGES``: give new parameters an example in
   tests/server/test_page_ownership.py.
"""
