"""All wire types of v2, for the package: it loads this module when one of them is first used."""

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
