"""Errors as short text: the line that names the cause, whatever stands around it."""

import traceback

from selfpaced.report.error_text import failure_kind, headline


def stored(error):
    """What a worker stores of an exception that `error` raises."""
    try:
        error()
    except Exception:
        return traceback.format_exc()


def with_notes():
    error = KeyError("sensor 7")
    error.add_note("raised on a batch\nof 50 rows")
    raise error


def in_a_chain():
    try:
        with_notes()
    except KeyError as error:
        raise RuntimeError("no reading\nat all") from error


def test_the_headline_is_the_exceptions_own_text():
    assert headline(stored(with_notes)) == "KeyError: 'sensor 7'"
    assert headline(stored(in_a_chain)) == "RuntimeError: no reading"
    assert headline("the process died 3 times,\nat last by SIGKILL") == "at last by SIGKILL"
    assert headline("") == "unknown"


def test_failures_of_one_kind_have_one_place_and_type():
    assert failure_kind(stored(with_notes)) == failure_kind(stored(with_notes))
    assert failure_kind(stored(with_notes)) != failure_kind(stored(in_a_chain))
    assert failure_kind("died by SIGKILL") != failure_kind("died by SIGSEGV: twice")
