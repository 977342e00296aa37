"""The wire types of v2, spelled as the protocol spells them.

All are loaded when one is first used by its name here. A module of the package loads only what it needs, so that
`initialize` is answered with the types of `lifecycle` alone.
"""

import typing

if typing.TYPE_CHECKING:
    from accord.schema.all_versions import *
    from accord.schema.v2.content import *
    from accord.schema.v2.elicitation import *
    from accord.schema.v2.lifecycle import *
    from accord.schema.v2.methods import *
    from accord.schema.v2.options import *
    from accord.schema.v2.sessions import *
    from accord.schema.v2.terminals import *
    from accord.schema.v2.tool_calls import *
    from accord.schema.v2.updates import *
else:
    from accord import schema

    __getattr__ = schema.load_types(
        globals(),
        "content",
        "elicitation",
        "lifecycle",
        "methods",
        "options",
        "sessions",
        "terminals",
        "tool_calls",
        "updates",
    )
