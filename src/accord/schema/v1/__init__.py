"""The wire types of v1, spelled as the protocol spells them.

All are loaded when one is first used by its name here. A module of the package loads only what it needs, so that
`initialize` is answered with the types of `lifecycle` alone.
"""

import typing

if typing.TYPE_CHECKING:
    from accord.schema.all_versions import *
    from accord.schema.v1.content import *
    from accord.schema.v1.elicitation import *
    from accord.schema.v1.files_and_terminals import *
    from accord.schema.v1.lifecycle import *
    from accord.schema.v1.methods import *
    from accord.schema.v1.options import *
    from accord.schema.v1.sessions import *
    from accord.schema.v1.tool_calls import *
    from accord.schema.v1.updates import *
else:
    from accord import schema

    __getattr__ = schema.load_types(
        globals(),
        "content",
        "elicitation",
        "files_and_terminals",
        "lifecycle",
        "methods",
        "options",
        "sessions",
        "tool_calls",
        "updates",
    )
