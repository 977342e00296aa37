"""Asking the user for input: a form made from a small schema, or a page to visit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

from accord.schema.v1.identifiers import ElicitationId, RequestId, SessionId, ToolCallId
from accord.schema.wire_values import (
    DEFAULT_ON_ERROR,
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
    UnsetType,
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

ElicitationSchemaType: TypeAlias = Annotated[str, Known("object", closed=True)]
StringFormat: TypeAlias = Annotated[str, Known("email", "uri", "date", "date-time", closed=True)]
MultiSelectItemsType: TypeAlias = Annotated[str, Known("string")]


class EnumOption(Wire):
    """A value to choose, with the words to show for it."""

    const: str
    title: str
    description: Lenient[str] = UNSET


class StringPropertySchema(Wire, tag_field="type", tag="string"):
    """A line of text, or with `enum` or `one_of` a choice; bound the time that `pattern` may take."""

    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    min_length: Nullable[UInt32] = UNSET
    max_length: Nullable[UInt32] = UNSET
    pattern: Nullable[str] = UNSET
    format: Nullable[StringFormat] = UNSET
    default: Lenient[str] = UNSET
    enum: Nullable[list[str]] = UNSET
    one_of: Nullable[list[EnumOption]] = UNSET


class NumberPropertySchema(Wire, tag_field="type", tag="number"):
    """A number; both bounds belong to the range."""

    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    minimum: Nullable[float] = UNSET
    maximum: Nullable[float] = UNSET
    default: Lenient[float] = UNSET


class IntegerPropertySchema(Wire, tag_field="type", tag="integer"):
    """A whole number; both bounds belong to the range."""

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
    """The values of a multiple choice: plain ones in `enum`, for the type "string", or titled ones in `any_of`."""

    type: Defaulted[_ItemsType] = UNSET
    enum: Defaulted[list[str]] = UNSET
    any_of: Defaulted[list[EnumOption]] = UNSET

    def __post_init__(self) -> None:
        if self.any_of is not UNSET:
            return
        if self.type is UNSET:
            raise ValueError("items without `type` need `anyOf`")
        if self.type == "string" and self.enum is UNSET:
            raise ValueError("items of type string need `enum`")


class MultiSelectPropertySchema(Wire, tag_field="type", tag="array"):
    """Several values out of a list."""

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
"""A property of another type is never shown as if it were one of these."""


class ElicitationSchema(Wire):
    """The fields of a form: a JSON Schema of one flat object; senders write `type` and `properties`."""

    type: Defaulted[ElicitationSchemaType] = UNSET
    title: Lenient[str] = UNSET
    properties: Union[dict[str, ElicitationPropertySchema], UnsetType] = UNSET
    required: Nullable[list[str]] = UNSET
    description: Lenient[str] = UNSET


class ElicitationScope(Wire, kw_only=True):
    """What a question belongs to: a session, or a request of the client that is still open; of both, the session."""

    session_id: Defaulted[SessionId] = UNSET
    tool_call_id: Lenient[ToolCallId] = UNSET
    request_id: Annotated[Union[RequestId, UnsetType], DEFAULT_ON_ERROR] = UNSET

    def __post_init__(self) -> None:
        if self.session_id is UNSET and self.request_id is UNSET:
            raise ValueError("an elicitation needs `sessionId` or `requestId`")


class ElicitationFormMode(ElicitationScope, tag_field="mode", tag="form"):
    """Params of `elicitation/create` for a form, which must not ask for secrets."""

    message: str
    requested_schema: ElicitationSchema


class ElicitationUrlMode(ElicitationScope, tag_field="mode", tag="url"):
    """Params of `elicitation/create` for a page, which is opened only after the user has seen its address and agreed."""

    message: str
    elicitation_id: ElicitationId
    url: str


class _OtherMode(ElicitationScope):
    message: str


CreateElicitationRequest: TypeAlias = Annotated[
    Open[Union[ElicitationFormMode, ElicitationUrlMode]], Others(_OtherMode)
]

ElicitationContentValue: TypeAlias = Union[str, int, float, bool, list[str]]


class ElicitationAcceptAction(Wire, tag_field="action", tag="accept"):
    """The user filled in the form, or agreed to open the page, which says nothing about what happens there."""

    content: Nullable[dict[str, ElicitationContentValue]] = UNSET


class ElicitationDeclineAction(Wire, tag_field="action", tag="decline"):
    """The user said no."""


class ElicitationCancelAction(Wire, tag_field="action", tag="cancel"):
    """The user went away without an answer."""


CreateElicitationResponse: TypeAlias = Open[
    Union[ElicitationAcceptAction, ElicitationDeclineAction, ElicitationCancelAction]
]
"""Any other action is to be handled as "cancel"."""


class CompleteElicitationNotification(Wire):
    """Params of `elicitation/complete`: what the page was for is done; an unknown id is ignored."""

    elicitation_id: ElicitationId
