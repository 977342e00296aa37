"""Every exception of accord, each one a fact.

    AccordError
    ├─ ConnectionClosed         the peer is gone; says why, with exit code and the end of stderr
    ├─ DeadlineExceeded         the peer did not answer in time
    ├─ Overloaded               a hard limit was passed, the connection was failed for it
    ├─ FrameRejected            what arrived is no frame we read: too long, not JSON, nested too deep
    ├─ Malformed                a payload does not fit its type; says where
    ├─ Unencodable              a payload of ours cannot be written as JSON
    ├─ NotContent               neither text nor a block of content was given to be told; a TypeError as well
    ├─ TurnStopped              an agent ends its turn early; no failure
    ├─ StoreFailed              the store could not do it; says which store, and why
    │  ├─ StoreClosed           it was closed, before the call or while it waited
    │  ├─ SessionExists         a session with that id is there already
    │  └─ JournalUnreadable     one session's history cannot be read; every other session is unaffected
    ├─ UnusableRepository       no git repository, or none that is safe to look at; says why
    └─ RequestFailed            a JSON-RPC error
       ├─ InvalidRequest        -32600
       ├─ MethodNotFound        -32601
       ├─ InvalidParams         -32602
       ├─ InternalError         -32603
       ├─ RequestCancelled      -32800
       ├─ AuthRequired          -32000, or data.reason "auth_required"
       ├─ NotFound              -32002
       ├─ VersionRefused        -32022
       ├─ RateLimited           -32029 from us, data.reason "rate_limited" from anybody
       ├─ Denied                -32003 from us, data.reason "permission_denied" from anybody
       ├─ SessionInUse          -32009, data.reason "session_in_use": another process has the session; says who
       └─ Fenced                -32010, data.reason "session_taken_over": this process has lost the session

A RequestFailed works both ways: whoever asked gets it raised, and a handler that raises one answers with it.
"""

from __future__ import annotations

from accord.errors.answers import (
    AuthRequired,
    Denied,
    Fenced,
    InternalError,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    NotFound,
    RateLimited,
    RequestCancelled,
    RequestFailed,
    SessionInUse,
    VersionRefused,
    request_failed,
)
from accord.errors.failures import (
    AccordError,
    ConnectionClosed,
    DeadlineExceeded,
    FrameRejected,
    JournalUnreadable,
    Malformed,
    NotContent,
    Overloaded,
    SessionExists,
    StoreClosed,
    StoreFailed,
    TurnStopped,
    Unencodable,
    UnusableRepository,
)

__all__ = [
    "AccordError",
    "AuthRequired",
    "ConnectionClosed",
    "DeadlineExceeded",
    "Denied",
    "Fenced",
    "FrameRejected",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "JournalUnreadable",
    "Malformed",
    "MethodNotFound",
    "NotContent",
    "NotFound",
    "Overloaded",
    "RateLimited",
    "RequestCancelled",
    "RequestFailed",
    "SessionExists",
    "SessionInUse",
    "StoreClosed",
    "StoreFailed",
    "TurnStopped",
    "Unencodable",
    "UnusableRepository",
    "VersionRefused",
    "request_failed",
]
