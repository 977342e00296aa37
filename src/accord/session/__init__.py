"""What happened in a session, in words that outlive a protocol version.

Here are the words for reading and reporting a session. Those for asking (`requests`) and describing what a side can do
(`capabilities`, `mcp_servers`) are in their modules, as are `diffs`.
"""

from accord.session.content import *
from accord.session.entities import *
from accord.session.transcript import *
from accord.session.updates import *
from accord.session.value import *
