"""Answers to the permission requests of an agent: policies, remembered choices, and what a yes covers."""

from accord.client.permissions.policies import *
from accord.client.permissions.saved_answers import *
