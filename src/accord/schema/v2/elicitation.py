"""Elicitation of v2: asks the user for input with a form, or with a web page to visit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, Union

from msgspec import Meta

from accord.schema.all_versions import (
    BooleanPropertySchema,
    ElicitationCancelAction,
    ElicitationDeclineAction,
    ElicitationId,
    EnumOption,
    IntegerPropertySchema,
    MultiSelectItemsType,
    NumberPropertySchema,
    SessionId,
    ToolCallId,
)
from accord.schema.v2.lifecycle import RequestId
from accord.schema.wire_values import (
    UNSET,
    Defaulted,
    Known,
    Lenient,
    LenientItems,
    MergedVariants,
    Nullable,
    Open,
    UInt32,
    UInt64,
    UnknownVariant,
    Wire,
    check_uint64,
    variants,
)

__all__ = [
    "CreateElicitationRequest",
    "CreateElicitationResponse",
    "ElicitationAcceptAction",
    "ElicitationContentValue",
    "ElicitationFormMode",
    "ElicitationPropertySchema",
    "ElicitationSchema",
    "ElicitationSchemaType",
    "ElicitationScope",
    "ElicitationUrlMode",
    "MultiSelectItems",
    "MultiSelectPropertySchema",
    "StringFormat",
    "StringPropertySchema",
]

ElicitationSchemaType: TypeAlias = Literal["object"]
ElicitationContentValue: TypeAlias = Any
StringFormat: TypeAlias = Annotated[str, Known("email", "uri", "date", "date-time")]


class StringPropertySchema(Wire, tag_field="type", tag="string"):
    """A line of text, or with `enum` or `oneOf` a choice."""

    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    min_length: Nullable[UInt32] = UNSET
    max_length: Nullable[UInt32] = UNSET
    pattern: Nullable[str] = UNSET
    format: Nullable[StringFormat] = UNSET
    default: Lenient[str] = UNSET
    enum: Nullable[Annotated[list[str], Meta(min_length=1)]] = UNSET
    one_of: Nullable[Annotated[list[EnumOption], Meta(min_length=1)]] = UNSET


if TYPE_CHECKING:
    _ItemsType: TypeAlias = MultiSelectItemsType
else:
    _ItemsType = variants(MultiSelectItemsType)


class MultiSelectItems(MergedVariants):
    """The values of a multiple choice: plain ones in `enum` with the type "string", or titled ones in `anyOf`."""

    type: Defaulted[_ItemsType] = UNSET
    enum: Defaulted[Annotated[list[str], Meta(min_length=1)]] = UNSET
    any_of: Defaulted[Annotated[list[EnumOption], Meta(min_length=1)]] = UNSET

    def __post_init__(self) -> None:
        if self.any_of is UNSET and (self.type is UNSET or (self.type == "string" and self.enum is UNSET)):
            raise ValueError("items need `type` and `enum`, or `anyOf`")


class MultiSelectPropertySchema(Wire, tag_field="type", tag="array"):
    """A choice of several values."""

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
    """The fields of a form: a JSON Schema of one flat object."""

    type: ElicitationSchemaType
    properties: dict[str, ElicitationPropertySchema]
    title: Lenient[str] = UNSET
    required: Nullable[list[str]] = UNSET
    description: Lenient[str] = UNSET


class ElicitationScope(Wire, kw_only=True):
    """The session, or the open request of the client, that a question belongs to: exactly one of them."""

    session_id: Defaulted[SessionId] = UNSET
    tool_call_id: Lenient[ToolCallId] = UNSET
    request_id: Defaulted[RequestId] = UNSET

    def __post_init__(self) -> None:
        if (self.session_id is UNSET) == (self.request_id is UNSET):
            raise ValueError("exactly one of `sessionId` and `requestId` is needed")


class ElicitationFormMode(ElicitationScope, tag_field="mode", tag="form"):
    """Params of `elicitation/create` for a form, which must not ask for secrets."""

    message: str
    requested_schema: ElicitationSchema


class ElicitationUrlMode(ElicitationScope, tag_field="mode", tag="url"):
    """Params of `elicitation/create` for a web page."""

    message: str
    elicitation_id: ElicitationId
    url: str


class _OtherMode(ElicitationScope):
    message: str


CreateElicitationRequest: TypeAlias = Annotated[
    Open[Union[ElicitationFormMode, ElicitationUrlMode]], UnknownVariant(_OtherMode)
]


class ElicitationAcceptAction(Wire, tag_field="action", tag="accept"):
    """The user filled in the form, or agreed to open the page."""

    content: Nullable[dict[str, ElicitationContentValue]] = UNSET


CreateElicitationResponse: TypeAlias = Open[
    Union[ElicitationAcceptAction, ElicitationDeclineAction, ElicitationCancelAction]
]
"""Handle an unknown action as "cancel"."""
