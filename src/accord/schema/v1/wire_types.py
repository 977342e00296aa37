"""All wire types of v1, for the package: it loads this module when one of them is first used."""

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
