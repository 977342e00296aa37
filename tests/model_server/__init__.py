"""A server on loopback that speaks the APIs of model providers and answers by a script.

Run it with `python -m tests.model_server --script FILE`; it needs nothing but Python. What a script holds is told in
`tests.model_server.script`.
"""
