"""However a prompt is told back, it stands in the transcript once, and nothing else that is told gets lost."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from accord.client.prompt_echo import PromptMessage
from accord.session import Transcript
from accord.session.content import Text
from accord.session.entities import AGENT, USER
from accord.session.updates import MessageAppend, MessageChanged, MessagePatch

LETTERS = st.text("ab \n", max_size=12)
BLOCKS = st.lists(LETTERS, min_size=1, max_size=3).filter(lambda texts: "".join(texts).strip())
CUTS = st.lists(st.integers(0, 40), max_size=4)
NAMES = st.sampled_from([None, "u1"])


def sent(texts: list[str], *, has_id: bool = False) -> tuple[Transcript, PromptMessage]:
    transcript = Transcript()
    prompt = PromptMessage([Text(text) for text in texts], transcript, has_id=has_id)
    change = transcript.apply(prompt.show())
    assert isinstance(change, MessageChanged)
    prompt.id = change.message.id
    transcript.begin_turn()
    return transcript, prompt


def tell(transcript: Transcript, prompt: PromptMessage, report: Any) -> None:
    sifted = prompt.filter_echo(report) if report.role == USER and prompt.awaits_echo else [report]
    for each in sifted:
        transcript.apply(each)


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    return [text[begin:end] for begin, end in pairwise(places)]


def piece(text: str, role: str = USER, id: str | None = None) -> MessageAppend:
    return MessageAppend(role=role, id=id, content=Text(text))


def asked(transcript: Transcript) -> list[str]:
    return [message.text for (role, _), message in transcript.messages.items() if role == USER]


@given(BLOCKS, CUTS, st.sampled_from(["", " ", "\n\n"]), NAMES, st.booleans())
@settings(max_examples=200)
def test_an_echo_in_any_pieces_with_any_blanks_is_not_shown(
    texts: list[str], cuts: list[int], joint: str, name: str | None, is_interrupted: bool
):
    transcript, prompt = sent(texts)
    for text in pieces(joint.join(texts), cuts):
        tell(transcript, prompt, piece(text, id=name))
        if is_interrupted:
            tell(transcript, prompt, piece("x", role=AGENT, id="a"))
    assert asked(transcript) == ["".join(texts)]
    assert (USER, name or prompt.id) in transcript.messages


@given(BLOCKS, LETTERS, CUTS, NAMES)
@settings(max_examples=300)
def test_what_is_no_echo_is_shown_whole(texts: list[str], other: str, cuts: list[int], name: str | None):
    transcript, prompt = sent(texts)
    for text in pieces(other, cuts):
        tell(transcript, prompt, piece(text, id=name))
    squeezed, repeated = "".join("".join(texts).split()), "".join(other.split())
    shown = asked(transcript)
    if squeezed.startswith(repeated):  # an echo, or the beginning of one
        assert shown == ["".join(texts)]
    elif repeated.startswith(squeezed):  # perhaps an echo and something more
        assert "".join("".join(shown).split()) in (squeezed + repeated, repeated)
    else:
        assert shown == ["".join(texts), other]


@given(BLOCKS, BLOCKS, CUTS, st.booleans(), st.booleans())
@settings(max_examples=300)
def test_in_v2_the_message_of_the_answer_is_as_the_agent_told_it(
    texts: list[str], theirs: list[str], cuts: list[int], is_echo: bool, is_whole: bool
):
    told = "".join(texts if is_echo else theirs)
    parts = pieces(told, cuts)
    reports: list[Any] = [piece(part, id="u1") for part in parts]
    if is_whole:
        reports = [MessagePatch(role=USER, id="u1", content=[Text(part) for part in parts])]
    for answer_at in range(len(reports) + 1):
        transcript, prompt = sent(texts, has_id=True)
        for number, report in enumerate([*reports, None]):
            if number == answer_at:
                for each in prompt.accept("u1"):
                    transcript.apply(each)
            if report is not None:
                tell(transcript, prompt, report)
        assert list(transcript.messages) == [(USER, "u1")]
        squeezed = "".join("".join(texts).split())
        if "".join(told.split()) == squeezed or not squeezed.startswith("".join(told.split())):
            assert "".join(asked(transcript)[0].split()) == "".join(told.split())
