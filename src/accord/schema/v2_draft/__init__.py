"""The wire types of the early v2 draft, as a superset of v1 and v2: only those that differ from both.

A peer that negotiates version 2 and does not mean the published v2 speaks this.
"""

from accord.schema.v2_draft.lifecycle import *
from accord.schema.v2_draft.methods import *
from accord.schema.v2_draft.options import *
from accord.schema.v2_draft.sessions import *
from accord.schema.v2_draft.tool_calls import *
from accord.schema.v2_draft.updates import *
