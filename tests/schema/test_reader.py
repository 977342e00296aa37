from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeAlias, Union

import msgspec
import pytest
from msgspec import Meta

from accord.errors import Malformed
from accord.schema import v1, v2
from accord.schema.reader import Reader
from accord.schema.wire_values import (
    DEFAULT_ON_NULL,
    UNSET,
    Alias,
    Closed,
    Defaulted,
    DefaultedItems,
    DefaultTag,
    Items,
    Known,
    Lenient,
    LenientItems,
    Nullable,
    NullIsEmpty,
    Open,
    UInt16,
    Unknown,
    UnknownVariant,
    UnsetType,
    ValidItems,
    Wire,
)

Shade: TypeAlias = Annotated[str, Known("light", "dark")]
Size: TypeAlias = Annotated[str, Known("small", "large", closed=True)]


class Circle(Wire, tag_field="type", tag="circle"):
    radius: UInt16
    shade: Lenient[Shade] = UNSET


class Square(Wire, tag_field="type", tag="square"):
    side: float
    inner: Lenient[Shape] = UNSET


class Picture(Wire, tag_field="type", tag="picture"):
    shapes: LenientItems[Shape] = UNSET


Shape: TypeAlias = Open[Union[Circle, Square, Picture]]
Assumed: TypeAlias = Annotated[Open[Union[Circle, Square]], DefaultTag("circle")]


class Page(Wire):
    """A field of each sort."""

    number: int
    shape: Union[Shape, UnsetType] = UNSET
    assumed: Nullable[Assumed] = UNSET
    nullable: Nullable[str] = UNSET
    lenient: Lenient[str] = UNSET
    defaulted: Defaulted[bool] = UNSET
    lenient_items: LenientItems[Shape] = UNSET
    defaulted_items: DefaultedItems[str] = UNSET
    plain_items: Union[list[Shape], UnsetType] = UNSET
    null_is_empty: NullIsEmpty[list[str]] = UNSET
    null_is_empty_map: NullIsEmpty[dict[str, str]] = UNSET
    title: Annotated[Union[str, UnsetType], Alias("name")] = UNSET
    shade: Union[Shade, UnsetType] = UNSET
    size: Union[Size, UnsetType] = UNSET
    kind: Union[Literal["page"], UnsetType] = UNSET
    named: Union[dict[str, Circle], UnsetType] = UNSET
    answer: Union[int, str, None, UnsetType] = UNSET
    mixed: Union[str, float, bool, list[str], UnsetType] = UNSET
    few: Union[Annotated[list[str], Meta(min_length=1, max_length=2)], UnsetType] = UNSET
    raw: Lenient[Any] = UNSET


class Lists(Wire):
    items: Items[Shape]
    valid_items: ValidItems[Shape]
    args: Annotated[list[str], DEFAULT_ON_NULL]


class Renamed(Wire):
    config_id: Annotated[str, Alias("id")]


class EitherOr(Wire):
    text: Defaulted[str] = UNSET
    blob: Defaulted[str] = UNSET

    def __post_init__(self) -> None:
        if (self.text is UNSET) == (self.blob is UNSET):
            raise ValueError("exactly one of `text` and `blob`")


class Holder(Wire):
    one: EitherOr
    many: LenientItems[EitherOr] = UNSET


PAGE = Reader(Page)
STRICT_PAGE = Reader(Page, strict=True)


def page(**members: Any) -> bytes:
    return json.dumps({"number": 1, **members}).encode()


def refusal(reader: Reader[Any], raw: bytes) -> tuple[str, str]:
    with pytest.raises(Malformed) as caught:
        reader.decode(raw)
    return caught.value.path, caught.value.reason


class TestUnknownVariants:
    def test_an_unknown_tag_is_kept_whole(self):
        sent = {"type": "star", "points": 5, "_meta": {"a": None}}
        assert PAGE.decode(page(shape=sent)).shape == Unknown("star", sent)

    @pytest.mark.requirement("COMPAT-09")
    def test_an_unknown_tag_is_kept_inside_an_array_between_good_elements(self):
        sent = {"type": "star"}
        read = PAGE.decode(page(lenientItems=[{"type": "circle", "radius": 1}, sent, {"type": "square", "side": 2}]))
        assert read.lenient_items == [Circle(radius=1), Unknown("star", sent), Square(side=2.0)]

    def test_an_unknown_tag_is_kept_at_any_depth(self):
        star = {"type": "star"}
        picture = {"type": "picture", "shapes": [{"type": "square", "side": 1, "inner": star}]}
        read = PAGE.decode(page(plainItems=[picture]))
        assert read.plain_items == [Picture(shapes=[Square(side=1.0, inner=Unknown("star", star))])]

    def test_keeping_is_no_forgiving_so_nothing_is_noted(self):
        notes: list[str] = []
        PAGE.decode(page(shape={"type": "star"}), notes)
        assert notes == []

    @pytest.mark.parametrize("tag", [None, 1, True, {"a": 1}, ["circle"]])
    def test_a_tag_that_is_no_string_is_malformed(self, tag: object):
        assert refusal(PAGE, page(shape={"type": tag}))[0] == "$.shape.type"

    def test_a_missing_tag_is_malformed(self):
        assert refusal(PAGE, page(shape={"radius": 1})) == ("$.shape.type", "required")

    def test_a_missing_tag_is_the_default_one_where_there_is_one(self):
        notes: list[str] = []
        assert PAGE.decode(page(assumed={"radius": 1}), notes).assumed == Circle(radius=1)
        assert notes == ["$.assumed.type: missing, read as circle"]

    def test_the_default_tag_is_for_missing_tags_only(self):
        assert refusal(PAGE, page(assumed={"type": None, "radius": 1}))[0] == "$.assumed.type"
        assert PAGE.decode(page(assumed={"type": "star"})).assumed == Unknown("star", {"type": "star"})

    def test_a_union_of_one_still_needs_its_tag(self):
        reader = Reader(Annotated[Open[Union[Circle]], "walked"])
        with pytest.raises(Malformed) as caught:
            reader._read({"radius": 1}, None)
        assert caught.value.path == "$.type"


class TestMalformedPayloads:
    def test_a_known_tag_with_a_bad_payload_is_never_unknown(self):
        assert refusal(PAGE, page(shape={"type": "circle", "radius": "1"})) == (
            "$.shape.radius",
            "expected `int`, got `str`",
        )

    def test_without_a_marker_the_error_reaches_the_top_with_its_exact_path(self):
        bad = {"type": "picture", "shapes": None}
        sent = [{"type": "circle", "radius": 1}, bad, {"type": "circle", "radius": -1}]
        assert refusal(PAGE, page(plainItems=sent)) == ("$.plainItems[2].radius", "expected `int` >= 0")

    def test_a_bad_element_leaves_an_array_that_skips_them(self):
        notes: list[str] = []
        read = PAGE.decode(page(lenientItems=[{"type": "circle"}, {"type": "square", "side": 2}, 3]), notes)
        assert read.lenient_items == [Square(side=2.0)]
        assert notes == [
            "$.lenientItems[0]: dropped, required at $.lenientItems[0].radius",
            "$.lenientItems[2]: dropped, expected `object`, got `int`",
        ]

    def test_a_malformed_value_of_a_lenient_field_counts_as_absent(self):
        notes: list[str] = []
        read = PAGE.decode(page(lenient=1, defaulted="yes", lenientItems="none", defaultedItems={}), notes)
        assert read == Page(number=1)
        assert notes == [
            "$.lenient: ignored, expected `str`, got `int`",
            "$.defaulted: ignored, expected `bool`, got `str`",
            "$.lenientItems: ignored, expected `array`, got `str`",
            "$.defaultedItems: ignored, expected `array`, got `object`",
        ]

    def test_the_nearest_forgiving_holder_decides(self):
        outer = {"type": "square", "side": 1, "inner": {"type": "square", "side": None}}
        notes: list[str] = []
        assert PAGE.decode(page(shape=outer), notes).shape == Square(side=1.0)
        assert notes == ["$.shape.inner: ignored, expected `float`, got `null` at $.shape.inner.side"]

    def test_null_is_a_value_where_it_is_allowed_and_absent_where_only_errors_are_forgiven(self):
        read = PAGE.decode(page(nullable=None, lenient=None, defaulted=None, lenientItems=None, defaultedItems=None))
        assert read == Page(number=1, nullable=None, lenient=None, lenient_items=None)

    def test_null_of_a_null_is_empty_field_is_the_empty_array_or_map(self):
        notes: list[str] = []
        read = PAGE.decode(page(nullIsEmpty=None, nullIsEmptyMap=None), notes)
        assert (read.null_is_empty, read.null_is_empty_map) == ([], {})
        assert notes == ["$.nullIsEmpty: null, read as empty", "$.nullIsEmptyMap: null, read as empty"]

    def test_anything_else_malformed_in_a_null_is_empty_field_is_an_error(self):
        assert refusal(PAGE, page(nullIsEmpty=["a", 1])) == ("$.nullIsEmpty[1]", "expected `str`, got `int`")
        assert refusal(PAGE, page(nullIsEmptyMap={"a": 1})) == ("$.nullIsEmptyMap.a", "expected `str`, got `int`")

    def test_required_arrays_forgive_what_their_markers_say(self):
        reader = Reader(Lists)
        assert reader.decode(b'{"items": 5, "validItems": [5], "args": null}') == Lists(
            items=[], valid_items=[], args=[]
        )
        assert refusal(reader, b'{"items": [], "validItems": 5, "args": []}')[0] == "$.validItems"

    @pytest.mark.parametrize("missing", ["items", "validItems", "args"])
    def test_a_required_key_must_be_there_however_forgiving_its_field(self, missing: str):
        members = {"items": [], "validItems": [], "args": []}
        del members[missing]
        assert refusal(Reader(Lists), json.dumps(members).encode()) == (f"$.{missing}", "required")

    def test_a_bound_on_the_length_is_one_on_what_is_left(self):
        assert refusal(PAGE, page(few=[]))[0] == "$.few"
        assert refusal(PAGE, page(few=["a", "b", "c"]))[0] == "$.few"
        assert PAGE.decode(page(few=["a"], lenient=5)).few == ["a"]

    def test_what_a_structs_own_check_says_is_the_reason(self):
        reader = Reader(Holder)
        assert refusal(reader, b'{"one": {"text": "a", "blob": "b"}}') == ("$.one", "exactly one of `text` and `blob`")
        notes: list[str] = []
        read = reader.decode(b'{"one": {"text": "a"}, "many": [{}, {"blob": "b"}]}', notes)
        assert read == Holder(one=EitherOr(text="a"), many=[EitherOr(blob="b")])
        assert notes == ["$.many[0]: dropped, exactly one of `text` and `blob`"]

    def test_an_older_key_is_read_when_the_right_one_is_missing(self):
        notes: list[str] = []
        assert Reader(Renamed).decode(b'{"id": "a"}', notes) == Renamed(config_id="a")
        assert notes == ["$.id: read as configId"]
        assert Reader(Renamed).decode(b'{"id": "a", "configId": "b"}') == Renamed(config_id="b")
        assert refusal(Reader(Renamed), b"{}") == ("$.configId", "required")

    def test_an_older_key_of_an_optional_field_is_read_in_the_second_reading(self):
        assert PAGE.decode(page(name="a", lenient=5)).title == "a"
        assert PAGE.decode(page(lenient=5)).title is UNSET

    def test_a_value_of_several_kinds_is_read_as_the_kind_it_is(self):
        for value in ("a", 1.5, True, ["a"]):
            assert PAGE.decode(page(mixed=value, lenient=5)).mixed == value
        assert refusal(PAGE, page(mixed={}))[0] == "$.mixed"
        assert refusal(PAGE, page(mixed=[1]))[0] == "$.mixed[0]"
        for value in (1, "a", None):
            assert PAGE.decode(page(answer=value, lenient=5)).answer == value

    def test_the_second_reading_reads_good_members_as_the_first_does(self):
        members = {
            "shape": {"type": "circle", "radius": 1, "shade": "dark", "_meta": {"a": [1]}},
            "named": {"a": {"radius": 1}},
            "raw": {"b": None},
            "shade": "pale",
            "_meta": None,
        }
        again = PAGE.decode(page(**members, lenient=5))
        assert again == PAGE.decode(page(**members))

    def test_the_top_itself_may_be_of_the_wrong_kind(self):
        assert refusal(PAGE, b"[]") == ("$", "expected `object`, got `array`")
        assert refusal(Reader(Union[Circle, Square]), b'{"type": "star"}') == (
            "$.type",
            "expected one of circle, square",
        )


class TestUnreadableText:
    @pytest.mark.parametrize(
        ("escape", "read"),
        [
            (r"\ud83d", "�"),
            (r"\ude00", "�"),
            (r"\ud83dx", "�x"),
            (r"\ud83d\ude00", "😀"),
            (r"\ud83d\ud83d\ude00", "�😀"),
            (r"\\ud83d", r"\ud83d"),
            (r"\\\ud83d", "\\�"),
            (r"\uD83D\n\uDE00", "�\n�"),
        ],
    )
    def test_half_a_surrogate_pair_is_read_as_the_replacement_character(self, escape: str, read: str):
        raw = b'{"number": 1, "nullable": "%s", "raw": {"%s": 1}}' % (escape.encode(), escape.encode())
        assert PAGE.decode(raw) == Page(number=1, nullable=read, raw={read: 1})
        assert PAGE.decode(msgspec.Raw(raw)) == Page(number=1, nullable=read, raw={read: 1})

    def test_half_a_pair_beyond_a_malformed_value_is_replaced_too(self):
        raw = rb'{"number": 1, "lenient": 5, "nullable": "\ud83d"}'
        assert PAGE.decode(raw).nullable == "�"

    @pytest.mark.parametrize(
        ("raw", "reason"),
        [
            (b'{"number": 1, "nullable": "\xff"}', "not valid UTF-8"),
            (b'{"number": 1, "nullable": "\xed\xa0\xbd"}', "not valid UTF-8"),
            (b'{"number": 1, "raw": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
            (b'{"number": NaN}', "not valid JSON"),
            (b'{"number": 1, "raw": [1e999, NaN]}', "not valid JSON"),
            (b'{"number": 1, "raw": 1e999', "not valid JSON"),
            (b'{"raw": 1e999, "nullable": "\xff"}', "not valid UTF-8"),
            (b"", "not valid JSON"),
            (rb'{"number": 1, "nullable": "\ud83', "not valid JSON"),
            (b"\xef\xbb\xbf{}", "not valid JSON"),
        ],
        ids=[
            "utf-8",
            "utf-8 surrogate",
            "deep",
            "nan",
            "huge and nan",
            "huge and cut off",
            "huge and utf-8",
            "empty",
            "cut off",
            "bom",
        ],
    )
    def test_what_cannot_be_parsed_is_malformed(self, raw: bytes, reason: str):
        assert refusal(PAGE, raw) == ("$", reason)
        assert refusal(STRICT_PAGE, raw) == ("$", reason)

    @pytest.mark.parametrize("huge", [b"1e400", b"-1e999", b"9" * 5_000], ids=["float", "negative", "int"])
    def test_a_number_out_of_range_costs_no_more_than_itself(self, huge: bytes):
        notes: list[str] = []
        raw = b'{"number": 1, "nullable": "a", "raw": {"x": [1, %s], "y": "\\ud83d"}}' % huge
        read = PAGE.decode(raw, notes)
        assert read == Page(number=1, nullable="a", raw={"x": [1, None], "y": "\ufffd"})
        assert notes == ["$.raw.x[1]: number out of range, read as null"]
        assert refusal(STRICT_PAGE, raw) == ("$.raw.x[1]", "number out of range")

    @pytest.mark.parametrize(
        ("raw", "place"),
        [(b'{"number": ' + b"9" * 5_000 + b"}", "$.number"), (b'{"number": 1, "mixed": 1e999}', "$.mixed")],
        ids=["int", "float"],
    )
    def test_where_a_number_is_needed_one_out_of_range_is_malformed(self, raw: bytes, place: str):
        assert refusal(PAGE, raw) == (place, "number out of range")
        assert refusal(STRICT_PAGE, raw) == (place, "number out of range")

    def test_an_integer_too_big_for_a_float_is_out_of_range(self):
        with pytest.raises(Malformed):
            Reader(Square).convert({"type": "square", "side": 10**400})


class TestStrictMode:
    def test_what_is_well_formed_is_read(self):
        raw = page(
            shape={"type": "circle", "radius": 1, "shade": "_own", "_meta": {"any": 1}}, size="large", kind="page"
        )
        assert STRICT_PAGE.decode(raw) == PAGE.decode(raw)

    @pytest.mark.requirement("AMB-61", "COMPAT-12")
    def test_unknown_members_are_errors_but_for_those_of_meta(self):
        assert refusal(STRICT_PAGE, page(colour=1)) == ("$.colour", "unknown member")
        shape = {"type": "circle", "radius": 1, "edge": 2}
        assert refusal(STRICT_PAGE, page(lenientItems=[shape])) == ("$.lenientItems[0].edge", "unknown member")
        assert STRICT_PAGE.decode(page(_meta={"colour": {"a": 1}})).meta == {"colour": {"a": 1}}
        assert PAGE.decode(page(colour=1)) == Page(number=1)

    def test_unknown_tags_are_errors_unless_they_belong_to_implementers(self):
        path, reason = refusal(STRICT_PAGE, page(lenientItems=[{"type": "star"}]))
        assert path == "$.lenientItems[0].type"
        assert reason == "expected one of circle, square, picture, or a name that begins with `_`"
        star = {"type": "_star", "points": 5}
        assert STRICT_PAGE.decode(page(lenientItems=[star])).lenient_items == [Unknown("_star", star)]
        assert refusal(STRICT_PAGE, page(shape={"type": "_star", "_meta": 5})) == (
            "$.shape._meta",
            "expected `object`, got `int`",
        )

    def test_a_closed_union_takes_no_tag_of_ones_own(self):
        reader = Reader(Closed[Union[Circle, Square]], strict=True)
        assert refusal(reader, b'{"type": "_star"}') == ("$.type", "expected one of circle, square")
        assert Reader(Closed[Union[Circle, Square]]).decode(b'{"type": "_star"}') == Unknown("_star", {"type": "_star"})

    def test_an_unknown_variant_has_what_its_union_wants_of_all(self):
        reader = Reader(Annotated[Open[Union[Circle, Square]], UnknownVariant(Renamed)], strict=True)
        assert refusal(reader, b'{"type": "_star"}') == ("$.configId", "required")
        assert refusal(reader, b'{"type": "_star", "configId": 5}') == ("$.configId", "expected `str`, got `int`")
        star = {"type": "_star", "configId": "c", "points": 5}
        assert reader.decode(json.dumps(star).encode()) == Unknown("_star", star)

    @pytest.mark.parametrize("strict", [False, True])
    def test_an_integer_may_be_written_as_a_fraction(self, strict: bool):
        reader = Reader(Page, strict)
        assert reader.decode(b'{"number": 2.0}') == Page(number=2)
        assert refusal(reader, b'{"number": 2.5}') == ("$.number", "expected `int`, got `float`")

    @pytest.mark.requirement("COMPAT-02", "COMPAT-04", "COMPAT-05", "COMPAT-07")
    def test_unknown_enum_values_are_errors_unless_an_open_enum_leaves_them_to_implementers(self):
        reason = "expected one of light, dark, or a name that begins with `_`"
        assert refusal(STRICT_PAGE, page(shade="pale")) == ("$.shade", reason)
        assert STRICT_PAGE.decode(page(shade="_pale")).shade == "_pale"
        assert refusal(STRICT_PAGE, page(size="_huge")) == ("$.size", "expected one of small, large")
        assert PAGE.decode(page(shade="pale", size="_huge")).size == "_huge"

    @pytest.mark.parametrize(
        "members",
        [
            {"lenient": 1},
            {"defaulted": None},
            {"nullIsEmpty": None},
            {"assumed": {"radius": 1}},
            {"lenientItems": [1]},
            {"defaultedItems": {}},
            {"name": "older"},
            {"kind": "letter"},
        ],
    )
    def test_nothing_is_forgiven(self, members: dict[str, Any]):
        refusal(STRICT_PAGE, page(**members))

    def test_a_tag_is_needed_even_where_there_is_nothing_to_choose(self):
        assert Reader(Circle).decode(b'{"radius": 1}') == Circle(radius=1)
        assert refusal(Reader(Circle, strict=True), b'{"radius": 1}') == ("$.type", "required")


class TestWhatIsTold:
    @pytest.mark.parametrize("strict", [False, True])
    @pytest.mark.parametrize(
        "members",
        [
            {"shape": {"type": "circle", "radius": "sesame"}},
            {"kind": "sesame"},
            {"plainItems": ["sesame"]},
            {"nullIsEmptyMap": {"open sesame": 1}},
            {"answer": ["sesame"]},
            {"few": ["sesame"] * 3},
        ],
    )
    def test_errors_never_quote_what_was_sent(self, members: dict[str, Any], strict: bool):
        """FN-41: the error goes back to the peer, so it holds only our words and the protocol's."""
        path, reason = refusal(Reader(Page, strict), page(**members))
        assert "sesame" not in path + reason
        assert reason

    def test_strict_errors_do_not_quote_tags_or_values_either(self):
        for members in ({"shape": {"type": "sesame"}}, {"shade": "sesame"}, {"open sesame": 1}):
            path, reason = refusal(STRICT_PAGE, page(**members))
            assert "sesame" not in path + reason

    def test_notes_do_not_quote_what_was_sent(self):
        notes: list[str] = []
        PAGE.decode(page(lenient=["sesame"], lenientItems=["sesame"], defaulted="sesame"), notes)
        assert len(notes) == 3
        assert "sesame" not in "".join(notes)

    def test_a_literal_says_what_it_wants(self):
        assert refusal(PAGE, page(kind="letter")) == ("$.kind", 'expected "page"')

    def test_a_member_that_is_there_and_malformed_is_not_called_missing(self):
        reader = Reader(Holder)
        assert refusal(reader, b'{"one": {"text": 5}}') == ("$.one.text", "expected `str`, got `int`")
        assert refusal(reader, b'{"one": {"meta": 5}}') == ("$.one", "exactly one of `text` and `blob`")
        assert refusal(reader, b'{"one": {"text": "a", "blob": "b"}}') == ("$.one", "exactly one of `text` and `blob`")


class TestParsedValues:
    def test_a_parsed_value_is_read_like_its_text(self):
        value = {"number": 1, "lenientItems": [{"type": "star"}, {"type": "circle"}], "lenient": 3}
        notes: list[str] = []
        told: list[str] = []
        assert PAGE.convert(value, notes) == PAGE.decode(json.dumps(value).encode(), told)
        assert notes == told
        assert PAGE.convert({"number": 1}) == Page(number=1)

    def test_strict_holds_for_parsed_values(self):
        with pytest.raises(Malformed):
            STRICT_PAGE.convert({"number": 1, "colour": 2})

    def test_objects_that_are_not_json_are_malformed(self):
        with pytest.raises(Malformed) as caught:
            PAGE.convert({"number": 1, "plainItems": {1, 2}, "shape": object()})
        assert caught.value.path in {"$.plainItems", "$.shape"}


UPDATES = [Reader(v1.SessionNotification), Reader(v2.UpdateSessionNotification)]


class TestFieldNotes:
    @pytest.mark.requirement("AMB-60")
    @pytest.mark.parametrize("reader", UPDATES, ids=["v1", "v2"])
    def test_an_unknown_update_is_kept(self, reader: Reader[Any]):
        """FN-50: an update that nobody knows yet is delivered as it came."""
        update = {"sessionUpdate": "weather_update", "sky": {"clouds": [1, 2]}}
        read = reader.decode(json.dumps({"sessionId": "s", "update": update}).encode())
        assert read.update == Unknown("weather_update", update)

    @pytest.mark.parametrize("reader", UPDATES, ids=["v1", "v2"])
    def test_unknown_variants_and_values_are_kept_at_any_depth(self, reader: Reader[Any]):
        """FN-50: deep inside a known update, too, and beside values that are known."""
        block = {"type": "hologram", "data": "x"}
        content = [{"type": "content", "content": block}, {"type": "chart"}]
        update = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": content, "kind": "dream"}
        raw = json.dumps({"sessionId": "s", "update": {**update, "status": "half_done"}}).encode()
        read = reader.decode(raw).update
        assert (read.kind, read.status) == ("dream", "half_done")
        assert read.content[0].content == Unknown("hologram", block)
        assert read.content[1] == Unknown("chart", {"type": "chart"})

    @pytest.mark.parametrize("reader", UPDATES, ids=["v1", "v2"])
    def test_a_known_update_that_is_malformed_is_an_error(self, reader: Reader[Any]):
        raw = b'{"sessionId": "s", "update": {"sessionUpdate": "tool_call_update", "toolCallId": 5}}'
        assert refusal(reader, raw) == ("$.update.toolCallId", "expected `str`, got `int`")

    @pytest.mark.requirement("AMB-59")
    def test_an_unknown_stop_reason_is_delivered_in_v1(self):
        """FN-51: an unknown stop reason is a string like the others."""
        assert Reader(v1.PromptResponse).decode(b'{"stopReason": "bored"}').stop_reason == "bored"

    @pytest.mark.requirement("COMPAT-01")
    def test_an_unknown_stop_reason_is_delivered_in_v2(self):
        """FN-51: also where it comes as part of the state."""
        raw = b'{"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "idle", "stopReason": "bored"}}'
        assert UPDATES[1].decode(raw).update.stop_reason == "bored"


class TestVersionTwoForms:
    def test_a_union_of_one_known_variant_needs_its_tag_when_read_fast(self):
        raw = b'{"sessionId": "s", "cwd": "/", "replayFrom": {}}'
        assert refusal(Reader(v2.ResumeSessionRequest), raw) == ("$.replayFrom.type", "required")

    def test_an_empty_tag_is_malformed(self):
        raw = b'{"sessionId": "s", "cwd": "/", "replayFrom": {"type": ""}}'
        assert refusal(Reader(v2.ResumeSessionRequest), raw)[0] == "$.replayFrom"

    def test_an_option_group_may_use_its_older_key(self):
        option = {
            "type": "select",
            "id": "model",
            "name": "Model",
            "currentValue": "a",
            "options": [{"group": "g", "name": "G", "options": [{"value": "a", "name": "A"}]}],
        }
        raw = json.dumps({"sessionId": "s", "configOptions": [option]}).encode()
        read = Reader(v2.NewSessionResponse).decode(raw)
        assert isinstance(read.config_options, list)
        (select,) = read.config_options
        assert isinstance(select, v2.SessionConfigSelect)
        assert (select.config_id, select.options[0].group_id) == ("model", "g")


def test_what_may_be_left_out_must_be_there_in_strict_mode():
    params = b'{"cwd":"/repo"}'
    assert Reader(v1.NewSessionRequest).decode(params).mcp_servers == []
    with pytest.raises(Malformed) as refused:
        Reader(v1.NewSessionRequest, strict=True).decode(params)
    assert refused.value.path == "$.mcpServers"
