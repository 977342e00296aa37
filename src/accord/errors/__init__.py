"""Every exception of accord, each one a fact.

    AccordError
    ├─ ConnectionClosed         the connection is closed; has the reason, the exit code and the end of stderr
    ├─ DeadlineExceeded         the peer did not respond in time
    ├─ Overloaded               a hard limit was exceeded and the connection failed
    ├─ FrameRejected            an unreadable frame: too long, not JSON, nested too deeply
    ├─ Malformed                a payload does not match its type; says where
    ├─ Unencodable              an outgoing payload cannot be written as JSON
    ├─ NotContent               neither a string nor a content block; a TypeError as well
    ├─ ExtraMissing             an extra is not installed; says how to add it; an ImportError as well
    ├─ TurnStopped              an agent ends its turn early; not a failure
    ├─ StoreFailed              the store failed; says which store, and why
    │  ├─ StoreClosed           the store was closed, before the call or during it
    │  ├─ SessionExists         a session with that id exists already
    │  └─ JournalUnreadable     one session's history cannot be read; other sessions are unaffected
    ├─ UnusableRepository       no git repository, or none that is safe to read; says why
    │  └─ RepositoryMissing      no git repository
    ├─ CheckpointFailed         the files of a session could not be saved or read back; says why
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
       ├─ SessionInUse          -32009, data.reason "session_in_use": another process has the session; says which
       └─ Fenced                -32010, data.reason "session_taken_over": this process has lost the session

A RequestFailed works both ways: a request that fails raises it, and a handler that raises one responds with it.
"""

from __future__ import annotations

from accord.errors import local_errors, request_errors
from accord.errors.local_errors import *
from accord.errors.request_errors import *

__all__: list[str] = []
__all__ += local_errors.__all__
__all__ += request_errors.__all__
