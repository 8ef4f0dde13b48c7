"""Suspects in words, where a heap for them would be large."""

from __future__ import annotations

import dataclasses

from ingest.suspects.holders import Holder
from ingest.suspects.steps import beginning_of, end_of
from ingest.suspects.words import Words
from ingest.words.text import Captions

_HOLDER = Holder(
    member=9, type_name="Rpc", index=1, name=None, reference="calls", words="Rpc.calls",
    role="Rpc.calls", root_words="a root", root_role="a root", target=2, between=(2,),
    path=(0, 1, 2, 9), root=0, root_kind="other", root_name=None, root_field=None,
    root_owner=None, is_statics_table=False,
)  # fmt: skip

_WORDS = Words(
    type_name="Order", object_count=400, retained_bytes=80_000, share=0.5,
    holder=_HOLDER, between=["Array"], is_run=False, captions=Captions(),
    runtime="v8", cut="Rpc.calls -> Array",
)  # fmt: skip


def test_what_the_place_that_is_told_does_not_free_is_held_by_others() -> None:
    words = dataclasses.replace(_WORDS, is_group=True, cut="Order")

    assert words.sentence.endswith(" are held in a list by Rpc.calls, and by others.")
    assert words.advice == (
        "To free them, remove entries at Rpc.calls, and clear whatever else refers to "
        "Order."
    )


def test_coroutines_are_ended_or_cancelled() -> None:
    cut = "Events.calls -> dict and coroutine Jobs.post -> Jobs"
    words = dataclasses.replace(
        _WORDS, runtime="python", cut=cut, also=["coroutine Jobs.post"]
    )

    assert words.advice.endswith(f"{cut}, or end or cancel the coroutines.")


def test_one_coroutine_may_be_the_program_itself() -> None:
    words = dataclasses.replace(_WORDS, runtime="python", cut="coroutine main -> list")

    assert words.advice.endswith(" coroutine main -> list.")


def test_the_calls_that_a_mock_keeps_need_no_mock() -> None:
    cut = "Service.tracer -> MagicMock"
    words = dataclasses.replace(_WORDS, runtime="python", cut=cut)

    assert words.advice.startswith("To free them, take no mock, which keeps its calls")


def test_what_elements_in_no_document_have_goes_with_these() -> None:
    holder = dataclasses.replace(_HOLDER, type_name="Detached <canvas>")
    words = dataclasses.replace(_WORDS, holder=holder, is_group=True)

    assert words.advice == (
        "To free them, drop what refers to each Detached <canvas> that has them: "
        "Rpc.calls -> Array."
    )


def test_what_transports_have_to_send_is_freed_when_it_has_been_read() -> None:
    transport = "asyncio.selector_events._SelectorSocketTransport"
    words = dataclasses.replace(
        _WORDS, runtime="python", between=[transport, "collections.deque"]
    )

    assert words.advice.startswith("To free them, wait until what is sent has been ")


def test_a_collection_without_a_name_is_told_by_what_holds_it() -> None:
    words = dataclasses.replace(_WORDS, cut="0x18a57.table -> Array")

    assert words.advice == (
        "To free them, remove entries at Rpc.calls: 0x18a57.table -> Array."
    )


def test_arrays_of_generic_types_are_lists_or_have_subscriptions() -> None:
    """An EventPipe writes type arguments in brackets, too."""
    cut = "Bus -> Subject`1[Text]"
    words = dataclasses.replace(_WORDS, runtime="dotnet", cut=cut, between=["Row[A][]"])
    between = ["Subject`1[Text]", "SubjectDisposable[Text][]"]
    listeners = dataclasses.replace(words, between=between)

    assert " are held in a list by " in words.sentence
    assert " are held as listeners by " in listeners.sentence
    assert listeners.advice == (
        "To free them, dispose the subscriptions (IDisposable.Dispose), or unregister "
        f"the listeners at {cut}."
    )


def test_the_first_collection_on_the_way_says_what_they_are_in() -> None:
    """Not a class with such a name, nor a list that each entry has of its own."""
    way = ["java.util.TreeMap", "app.WorkQueueEntry", "java.util.LinkedList"]
    words = dataclasses.replace(_WORDS, runtime="jvm", between=way)

    assert " are held in a map by " in words.sentence


def test_what_ends_of_itself_is_left_out_of_a_long_sentence() -> None:
    words = dataclasses.replace(_WORDS, also=["x" * 90, "y" * 90])
    long = dataclasses.replace(words, meanwhile=["a frame of thread timeouts"])

    assert long.sentence == words.sentence


def test_a_text_is_shortened_between_words() -> None:
    text = f"local variable lst of {'Sniffer.' * 16}_run"
    assert end_of(text, 140) == f"… lst of {'Sniffer.' * 16}_run"
    assert end_of("x" * 50, 10) == f"…{'x' * 9}"
    assert end_of("f (/srv/a/long/folder/app.py:3)", 20) == "f (app.py:3)"
    assert beginning_of("one two three", 10) == "one two…"
    assert beginning_of("x" * 50, 10) == f"{'x' * 9}…"
