"""Session words as v2 can say them, for properties. With `unknown` they also hold variants that v2 does not list."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import UNSET

from accord.dialects.all_versions.updates import update_names
from accord.dialects.v2.updates import UPDATES_FROM_WIRE
from accord.session import content, entities, requests, updates
from accord.session import mcp_servers as servers
from accord.session.value import Unknown

text = st.text(max_size=6)
name = st.text("abcxyz-_/. ", min_size=1, max_size=8)
path = name.map(lambda rest: f"/{rest}")
custom = st.sampled_from(("_garden", "_x/y"))
number = st.integers(-(2**53), 2**53)
json_value = st.recursive(
    st.none() | st.booleans() | number | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    max_leaves=4,
)
an_object = st.dictionaries(text, json_value, max_size=2)
meta = st.none() | an_object


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def patched(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.just(UNSET) | st.none() | strategy


def few(strategy: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[Any]:
    return st.lists(strategy, min_size=least, max_size=3)


def known_or_custom(*values: str) -> st.SearchStrategy[Any]:
    """What an open enum may hold (COMPAT-02 and its like)."""
    return st.sampled_from(values) | custom


def unknown_variant(tag_field: str, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The tag and the whole of an object that no version lists."""

    def whole(tag: str, more: dict[str, Any], needed: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return tag, {**more, **needed, tag_field: tag}

    return st.builds(whole, custom, an_object, st.fixed_dictionaries(members))


def unknown_word(tag_field: str = "type") -> st.SearchStrategy[Any]:
    return unknown_variant(tag_field).map(lambda it: Unknown(tag=it[0], raw=it[1]))


hints = st.builds(
    content.Annotations,
    audience=optional(few(known_or_custom("user", "assistant"))),
    priority=optional(st.floats(0, 1)),
    last_modified=optional(text),
    meta=meta,
)
icon = st.builds(
    content.Icon,
    src=text,
    mime_type=optional(text),
    sizes=optional(few(text)),
    theme=optional(known_or_custom("light", "dark")),
    meta=meta,
)


def contents(unknown: bool) -> st.SearchStrategy[Any]:
    told: dict[str, Any] = {"annotations": optional(hints), "meta": meta}
    whole = st.builds(content.Resource, uri=text, text=text, mime_type=optional(text), contents_meta=meta, **told)
    blob = st.builds(content.Resource, uri=text, blob=text, mime_type=optional(text), contents_meta=meta, **told)
    link = st.builds(
        content.ResourceLink,
        uri=text,
        name=text,
        title=optional(text),
        description=optional(text),
        mime_type=optional(text),
        size=optional(st.integers(0, 2**63)),
        icons=optional(few(icon)),
        **told,
    )
    kinds = [
        st.builds(content.Text, text=text),
        st.builds(content.Text, text=text, **told),
        st.builds(content.Image, data=text, mime_type=text, uri=optional(text), **told),
        st.builds(content.Audio, data=text, mime_type=text, **told),
        link,
        whole,
        blob,
    ]
    return st.one_of(*kinds, *([unknown_word()] if unknown else []))


def file_changes(unknown: bool) -> st.SearchStrategy[Any]:
    about: dict[str, Any] = {
        "path": path,
        "file_type": optional(known_or_custom("text", "binary", "directory", "symlink")),
        "mime_type": optional(text),
        "meta": meta,
    }
    other = unknown_variant("operation", path=path).map(
        lambda it: entities.FileChange(operation=it[0], path=it[1]["path"], raw=it[1])
    )
    return st.one_of(
        st.builds(entities.FileChange, operation=st.sampled_from(("add", "delete", "modify")), **about),
        st.builds(entities.FileChange, operation=st.sampled_from(("move", "copy")), old_path=path, **about),
        *([other] if unknown else []),
    )


def items(unknown: bool) -> st.SearchStrategy[Any]:
    patch = st.builds(entities.DiffPatch, format=known_or_custom("git_patch"), text=text, meta=meta)
    return st.one_of(
        st.builds(entities.ContentItem, content=contents(unknown), meta=meta),
        st.builds(entities.Diff, changes=few(file_changes(unknown)), patch=optional(patch), meta=meta),
        st.builds(entities.TerminalItem, terminal_id=name, meta=meta),
        *([unknown_word()] if unknown else []),
    )


def options(unknown: bool) -> st.SearchStrategy[Any]:
    about: dict[str, Any] = {
        "id": name,
        "name": text,
        "description": optional(text),
        "category": optional(known_or_custom("mode", "model", "model_config", "thought_level")),
        "meta": meta,
    }
    choice = st.builds(entities.OptionChoice, value=text, name=text, description=optional(text), meta=meta)
    group = st.tuples(text, text, meta, few(choice, least=1))

    def grouped(groups: list[Any]) -> list[entities.OptionChoice]:
        return [
            msgspec.structs.replace(each, group=group, group_name=title, group_meta=its_meta)
            for group, title, its_meta, choices in groups
            for each in choices
        ]

    groups = st.lists(group, min_size=1, max_size=2, unique_by=lambda it: it[0]).map(grouped)
    other = unknown_variant("type", configId=name, name=text).map(
        lambda it: entities.Option(id=it[1]["configId"], name=it[1]["name"], kind=it[0], raw=it[1])
    )
    return st.one_of(
        st.builds(entities.Option, kind=st.just("boolean"), value=st.booleans(), **about),
        st.builds(entities.Option, value=text, choices=few(choice, least=1), **about),
        st.builds(entities.Option, value=text, choices=groups, **about),
        *([other] if unknown else []),
    )


def commands(unknown: bool) -> st.SearchStrategy[Any]:
    bare = name.map(lambda it: it.lstrip("/") or "dig")
    other = unknown_variant("type", name=bare, description=text).map(
        lambda it: entities.SlashCommand(name=it[1]["name"], description=it[1]["description"], raw=it[1])
    )
    return st.one_of(
        st.builds(entities.SlashCommand, name=bare, description=text, meta=meta),
        st.builds(entities.SlashCommand, name=bare, description=text, hint=text, input_meta=meta, meta=meta),
        *([other] if unknown else []),
    )


def tool_call_patches(unknown: bool) -> st.SearchStrategy[Any]:
    location = st.builds(entities.Location, path=path, line=optional(st.integers(1, 2**32 - 1)), meta=meta)
    return st.builds(
        updates.ToolCallPatch,
        id=name,
        title=patched(text),
        name=patched(text),
        kind=patched(known_or_custom("read", "edit", "other")),
        status=patched(known_or_custom("pending", "in_progress", "paused", "completed", "failed", "cancelled")),
        content=patched(few(items(unknown))),
        locations=patched(few(location)),
        raw_input=st.just(UNSET) | json_value,
        raw_output=st.just(UNSET) | json_value,
        cancellable=patched(st.booleans()),
        meta=patched(an_object),
    )


def terminal_patches() -> st.SearchStrategy[Any]:
    ended = st.builds(entities.Exit, code=optional(st.integers(-(2**63), 2**63 - 1)), signal=optional(text), meta=meta)
    extent = st.integers(1, 65535)
    return st.builds(
        updates.TerminalPatch,
        id=name,
        command=patched(text),
        cwd=patched(path),
        output=patched(st.binary(max_size=9)),
        exit=patched(ended),
        size=patched(st.builds(entities.TerminalSize, columns=extent, rows=extent, meta=meta)),
        cancellable=patched(st.booleans()),
        meta=patched(an_object),
    )


def plan_reports(unknown: bool) -> st.SearchStrategy[Any]:
    entry = st.builds(
        entities.PlanEntry,
        content=text,
        priority=known_or_custom("high", "medium", "low"),
        status=known_or_custom("pending", "in_progress", "completed", "cancelled"),
        meta=meta,
    )
    other = unknown_variant("type", planId=name).map(
        lambda it: entities.Plan(id=it[1]["planId"], type=it[0], raw=it[1])
    )
    plan = st.one_of(st.builds(entities.Plan, id=name, entries=few(entry), meta=meta), *([other] if unknown else []))
    return st.builds(updates.PlanPatch, plan=plan, meta=patched(an_object))


def state_reports(unknown: bool) -> st.SearchStrategy[Any]:
    other = unknown_variant("type").map(lambda it: entities.Work(type=it[0], id="", raw=it[1]))
    work = st.one_of(
        st.builds(entities.Work, type=st.sampled_from(("terminal", "tool_call")), id=name, meta=meta),
        *([other] if unknown else []),
    )
    error = st.fixed_dictionaries(
        {"code": st.integers(-(2**31), 2**31 - 1), "message": text},
        optional={"data": json_value.filter(lambda it: it is not None)},
    )
    state = st.builds(
        entities.State,
        state=known_or_custom("running", "idle", "requires_action"),
        stop_reason=optional(known_or_custom("end_turn", "max_tokens", "refusal", "cancelled", "error")),
        error=optional(error),
        background=optional(few(work)),
    )
    return st.builds(_with_meta, state, patched(an_object)).map(lambda it: updates.StatePatch(state=it[0], meta=it[1]))


def notice_reports() -> st.SearchStrategy[Any]:
    notice = st.builds(
        entities.Notice,
        severity=known_or_custom("info", "warning", "error"),
        title=name,
        description=optional(text),
    )
    return st.builds(_with_meta, notice, patched(an_object)).map(
        lambda it: updates.NoticePatch(notice=it[0], meta=it[1])
    )


def _with_meta(word: Any, told: Any) -> tuple[Any, Any]:
    """Where the wire has one `_meta`, the word and its report have the same."""
    return msgspec.structs.replace(word, meta=None if told is UNSET else told), told


def unknown_reports() -> st.SearchStrategy[Any]:
    tags = st.sampled_from(("_garden", "tool_call", "plan", "current_mode_update", "plan_removed"))
    assert not {"tool_call", "plan", "current_mode_update", "plan_removed"} & update_names(UPDATES_FROM_WIRE)
    return st.builds(
        lambda tag, more: updates.UnknownPatch(tag=tag, raw={**more, "sessionUpdate": tag}), tags, an_object
    )


def reports(unknown: bool) -> st.SearchStrategy[Any]:
    """Everything an agent can report in v2."""
    role = st.sampled_from((entities.USER, entities.AGENT, entities.THOUGHT))
    block, told = contents(unknown), patched(an_object)
    cost = st.builds(entities.Cost, amount=st.floats(0, 1e9), currency=text, meta=meta)
    tokens = st.integers(0, 2**63)
    compaction_status = known_or_custom("in_progress", "completed", "failed", "cancelled")
    return st.one_of(
        st.builds(updates.MessageAppend, role=role, id=name, content=block, meta=told),
        st.builds(updates.MessagePatch, role=role, id=name, content=patched(few(block)), meta=told),
        tool_call_patches(unknown),
        st.builds(updates.ToolCallAppend, id=name, item=items(unknown), meta=told),
        terminal_patches(),
        st.builds(updates.TerminalAppend, id=name, data=st.binary(max_size=9), meta=told),
        plan_reports(unknown),
        st.builds(updates.CommandsPatch, commands=few(commands(unknown)), meta=told),
        st.builds(updates.OptionsPatch, options=few(options(unknown)), meta=told),
        st.builds(updates.InfoPatch, title=patched(text), updated_at=patched(text), meta=told),
        st.builds(updates.UsagePatch, used=tokens, size=tokens, cost=patched(cost), meta=told),
        notice_reports(),
        st.builds(
            updates.CompactionPatch,
            id=name,
            status=compaction_status,
            summary=patched(few(block)),
            error=patched(text),
            meta=told,
        ),
        st.builds(updates.CompactionAppend, id=name, content=block, meta=told),
        state_reports(unknown),
        *([unknown_reports()] if unknown else []),
    )


def mcp_servers() -> st.SearchStrategy[Any]:
    pairs = st.dictionaries(name, text, max_size=2)
    server = st.one_of(
        st.builds(servers.StdioServer, name=name, command=path, args=few(text), env=pairs, meta=meta),
        st.builds(servers.HttpServer, name=name, url=text, headers=pairs, meta=meta),
    )
    return st.lists(server, max_size=2, unique_by=lambda it: it.name)


def asked(unknown: bool) -> st.SearchStrategy[Any]:
    """Everything either side can ask in v2, but the handshake and elicitation."""
    place: dict[str, Any] = {
        "cwd": path,
        "servers": mcp_servers(),
        "additional_directories": few(path),
        "meta": meta,
    }
    stored: dict[str, Any] = {"session_id": name, **place}
    subject = st.one_of(
        st.builds(requests.ToolCallSubject, call=tool_call_patches(unknown), meta=meta),
        st.builds(
            requests.CommandSubject,
            command=text,
            cwd=path,
            tool_call_id=optional(name),
            terminal_id=optional(name),
            meta=meta,
        ),
        *([unknown_word()] if unknown else []),
    )
    option = st.builds(
        requests.PermissionOption, id=name, name=text, kind=known_or_custom("allow_once", "reject_once"), meta=meta
    )
    return st.one_of(
        st.builds(requests.Authenticate, method_id=name, meta=meta),
        st.builds(requests.Logout, meta=meta),
        st.builds(requests.NewSession, **place),
        st.builds(requests.LoadSession, **stored),
        st.builds(requests.ResumeSession, **stored),
        st.builds(requests.ForkSession, **stored),
        st.builds(requests.ListSessions, cwd=optional(path), cursor=optional(text), meta=meta),
        st.builds(requests.CloseSession, session_id=name, meta=meta),
        st.builds(requests.DeleteSession, session_id=name, meta=meta),
        st.builds(requests.Prompt, session_id=name, content=few(contents(unknown=False), least=1), meta=meta),
        st.builds(requests.SetOption, session_id=name, option_id=name, value=text | st.booleans(), meta=meta),
        st.builds(requests.CancelToolCall, session_id=name, tool_call_id=name, meta=meta),
        st.builds(requests.CancelTerminal, session_id=name, terminal_id=name, meta=meta),
        st.builds(
            requests.PermissionRequest,
            session_id=name,
            title=name,
            description=optional(text),
            subject=optional(subject),
            options=few(option, least=1),
            meta=meta,
        ),
    )


def opened(unknown: bool) -> st.SearchStrategy[Any]:
    """What a session starts with."""
    return st.builds(
        requests.SessionSetup,
        session_id=name,
        options=st.just(UNSET) | few(options(unknown)),
        commands=st.just(UNSET) | few(commands(unknown)),
        meta=meta,
    )
