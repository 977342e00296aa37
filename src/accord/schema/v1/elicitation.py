"""Elicitation of v1: asks the user for input with a form, or with a web page to visit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

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
from accord.schema.v1.lifecycle import RequestId
from accord.schema.wire_values import (
    DEFAULT_ON_ERROR,
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
    UnsetType,
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

ElicitationSchemaType: TypeAlias = Annotated[str, Known("object", closed=True)]
StringFormat: TypeAlias = Annotated[str, Known("email", "uri", "date", "date-time", closed=True)]


class StringPropertySchema(Wire, tag_field="type", tag="string"):
    """A line of text, or with `enum` or `one_of` a choice; limit the time spent on matching `pattern`."""

    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    min_length: Nullable[UInt32] = UNSET
    max_length: Nullable[UInt32] = UNSET
    pattern: Nullable[str] = UNSET
    format: Nullable[StringFormat] = UNSET
    default: Lenient[str] = UNSET
    enum: Nullable[list[str]] = UNSET
    one_of: Nullable[list[EnumOption]] = UNSET


if TYPE_CHECKING:
    _ItemsType: TypeAlias = MultiSelectItemsType
else:
    _ItemsType = variants(MultiSelectItemsType)


class MultiSelectItems(MergedVariants):
    """The values of a multiple choice: plain ones in `enum` with the type "string", or titled ones in `any_of`."""

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
"""Never show a property of another type as if it were one of these."""


class ElicitationSchema(Wire):
    """The fields of a form: a JSON Schema of one flat object; senders always write `type` and `properties`."""

    type: Defaulted[ElicitationSchemaType] = UNSET
    title: Lenient[str] = UNSET
    properties: Union[dict[str, ElicitationPropertySchema], UnsetType] = UNSET
    required: Nullable[list[str]] = UNSET
    description: Lenient[str] = UNSET


class ElicitationScope(Wire, kw_only=True):
    """The session, or the open request of the client, that a question belongs to; if both are present, the session."""

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
    """Params of `elicitation/create` for a web page; open it only after the user has seen its address and agreed."""

    message: str
    elicitation_id: ElicitationId
    url: str


class _OtherMode(ElicitationScope):
    message: str


CreateElicitationRequest: TypeAlias = Annotated[
    Open[Union[ElicitationFormMode, ElicitationUrlMode]], UnknownVariant(_OtherMode)
]

ElicitationContentValue: TypeAlias = Union[str, int, float, bool, list[str]]


class ElicitationAcceptAction(Wire, tag_field="action", tag="accept"):
    """The user filled in the form, or agreed to open the page; what happens there is not known yet."""

    content: Nullable[dict[str, ElicitationContentValue]] = UNSET


CreateElicitationResponse: TypeAlias = Open[
    Union[ElicitationAcceptAction, ElicitationDeclineAction, ElicitationCancelAction]
]
"""Handle any other action as "cancel"."""
