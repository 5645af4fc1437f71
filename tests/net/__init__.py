"""The net: what users see, recorded as text, so that two states of the program can be compared.

``python -m tests.net.record FOLDER`` starts the program of the interpreter that runs it, and writes what it answered;
``python -m tests.net.compare A B`` prints the differences of two recordings. Nothing here knows the inside of the
program: it is started, spoken to over MCP, or used through the public names of the package in a process of its own.

Some answers depend on time: a folder is listed with the sizes that could be looked up in time, a menu with the files
that were found in time. On a machine that is very busy, record such a story again (``--only cli --story expanding``).
"""
