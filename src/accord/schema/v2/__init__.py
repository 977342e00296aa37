"""The wire types of v2, spelled as the protocol spells them.

All are loaded when one is first used by its name here. A module of the package loads only what it needs, so that
`initialize` is answered with the types of `lifecycle` alone.
"""

import typing

if typing.TYPE_CHECKING:
    from accord.schema.v2.wire_types import *
else:
    from accord.schema import lazy_types

    __getattr__ = lazy_types.types_of("accord.schema.v2.wire_types", globals())
