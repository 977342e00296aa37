"""Asking the user for information, by a form or on a web page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, Union

from msgspec import Meta

from accord.schema.v2.identifiers import ElicitationId, RequestId, SessionId, ToolCallId
from accord.schema.wire_values import (
    UNSET,
    Defaulted,
    Int64,
    Known,
    Lenient,
    LenientItems,
    Nullable,
    Open,
    Others,
    UInt32,
    UInt64,
    Whole,
    Wire,
    check_uint64,
    variants,
)

__all__ = [
    "BooleanPropertySchema",
    "CompleteElicitationNotification",
    "CreateElicitationRequest",
    "CreateElicitationResponse",
    "ElicitationAcceptAction",
    "ElicitationCancelAction",
    "ElicitationContentValue",
    "ElicitationDeclineAction",
    "ElicitationFormMode",
    "ElicitationPropertySchema",
    "ElicitationSchema",
    "ElicitationSchemaType",
    "ElicitationScope",
    "ElicitationUrlMode",
    "EnumOption",
    "IntegerPropertySchema",
    "MultiSelectItems",
    "MultiSelectItemsType",
    "MultiSelectPropertySchema",
    "NumberPropertySchema",
    "StringFormat",
    "StringPropertySchema",
]

ElicitationSchemaType: TypeAlias = Literal["object"]
ElicitationContentValue: TypeAlias = Any
MultiSelectItemsType: TypeAlias = Annotated[str, Known("string")]
StringFormat: TypeAlias = Annotated[str, Known("email", "uri", "date", "date-time")]


class EnumOption(Wire):
    """A value and the words for it."""

    const: str
    title: str
    description: Lenient[str] = UNSET


class StringPropertySchema(Wire, tag_field="type", tag="string"):
    """A text, or one of the values of `enum` or `oneOf`."""

    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    min_length: Nullable[UInt32] = UNSET
    max_length: Nullable[UInt32] = UNSET
    pattern: Nullable[str] = UNSET
    format: Nullable[StringFormat] = UNSET
    default: Lenient[str] = UNSET
    enum: Nullable[Annotated[list[str], Meta(min_length=1)]] = UNSET
    one_of: Nullable[Annotated[list[EnumOption], Meta(min_length=1)]] = UNSET


class NumberPropertySchema(Wire, tag_field="type", tag="number"):
    """A number."""

    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    minimum: Nullable[float] = UNSET
    maximum: Nullable[float] = UNSET
    default: Lenient[float] = UNSET


class IntegerPropertySchema(Wire, tag_field="type", tag="integer"):
    """A whole number."""

    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    minimum: Nullable[Int64] = UNSET
    maximum: Nullable[Int64] = UNSET
    default: Lenient[Int64] = UNSET


class BooleanPropertySchema(Wire, tag_field="type", tag="boolean"):
    """Yes or no."""

    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    default: Lenient[bool] = UNSET


if TYPE_CHECKING:
    _ItemsType: TypeAlias = MultiSelectItemsType
else:
    _ItemsType = variants(MultiSelectItemsType)


class MultiSelectItems(Whole):
    """The values to choose from: bare ones (`type` is `string`, and `enum`), or ones with titles (`anyOf`)."""

    type: Defaulted[_ItemsType] = UNSET
    enum: Defaulted[Annotated[list[str], Meta(min_length=1)]] = UNSET
    any_of: Defaulted[Annotated[list[EnumOption], Meta(min_length=1)]] = UNSET

    def __post_init__(self) -> None:
        if self.any_of is UNSET and (self.type is UNSET or (self.type == "string" and self.enum is UNSET)):
            raise ValueError("items need `type` and `enum`, or `anyOf`")


class MultiSelectPropertySchema(Wire, tag_field="type", tag="array"):
    """Any of several values."""

    items: Open[MultiSelectItems]
    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    min_items: Nullable[UInt64] = UNSET
    max_items: Nullable[UInt64] = UNSET
    default: LenientItems[str] = UNSET

    def __post_init__(self) -> None:
        check_uint64(self.min_items, self.max_items)


ElicitationPropertySchema: TypeAlias = Open[
    Union[
        StringPropertySchema,
        NumberPropertySchema,
        IntegerPropertySchema,
        BooleanPropertySchema,
        MultiSelectPropertySchema,
    ]
]


class ElicitationSchema(Wire):
    """The fields of a form; flat."""

    type: ElicitationSchemaType
    properties: dict[str, ElicitationPropertySchema]
    title: Lenient[str] = UNSET
    required: Nullable[list[str]] = UNSET
    description: Lenient[str] = UNSET


class ElicitationScope(Wire, kw_only=True):
    """What a question belongs to: a session, or a request of the client that is still open. Exactly one of them."""

    session_id: Defaulted[SessionId] = UNSET
    tool_call_id: Lenient[ToolCallId] = UNSET
    request_id: Defaulted[RequestId] = UNSET

    def __post_init__(self) -> None:
        if (self.session_id is UNSET) == (self.request_id is UNSET):
            raise ValueError("exactly one of `sessionId` and `requestId` is needed")


class ElicitationFormMode(ElicitationScope, tag_field="mode", tag="form"):
    """Ask by a form, never for secrets."""

    message: str
    requested_schema: ElicitationSchema


class ElicitationUrlMode(ElicitationScope, tag_field="mode", tag="url"):
    """Ask the user to visit a page."""

    message: str
    elicitation_id: ElicitationId
    url: str


class _OtherMode(ElicitationScope):
    message: str


CreateElicitationRequest: TypeAlias = Annotated[
    Open[Union[ElicitationFormMode, ElicitationUrlMode]], Others(_OtherMode)
]


class ElicitationAcceptAction(Wire, tag_field="action", tag="accept"):
    """The user filled in the form, or agreed to open the page."""

    content: Nullable[dict[str, ElicitationContentValue]] = UNSET


class ElicitationDeclineAction(Wire, tag_field="action", tag="decline"):
    """The user said no."""


class ElicitationCancelAction(Wire, tag_field="action", tag="cancel"):
    """The user did not choose."""


CreateElicitationResponse: TypeAlias = Open[
    Union[ElicitationAcceptAction, ElicitationDeclineAction, ElicitationCancelAction]
]
"""An unknown action counts as `cancel`."""


class CompleteElicitationNotification(Wire):
    """What the user did on the page has reached the agent."""

    elicitation_id: ElicitationId
