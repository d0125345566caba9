"""Hostile text in every place of a finding that a target, a log or a person had a hand in: as GitHub renders
the page, nothing of it acts, nothing leaks, and the page has the structure that a harmless text gives it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from bot import bodies
from bot.bodies import Form, Person, Transition
from bot.classify import InStore, OnBuilds, Standing, stand
from fuzzers.records import Aspect, Ending, Expect, Finding, Kind, Run, Suspect
from tests.unit import toy_build

HOSTS = ("buildbox-9", "node7.corp.example")

LEAKS = ("buildbox-9", "node7.corp", "Hunter2Hunter2", "/home/mallory", "/root/", "a1B2a1B2", "/tmp/secret")
"""What no page may show: the texts below carry these where they carry secrets, paths and hosts."""

HOSTILE = {
    "mention": "@mallory",
    "mention of a team": "cc @pytorch/oncall,@a-b and (@c)",
    "mention behind an entity": "&commat;mallory &#64;mallory &#x40;mallory",
    "mention behind a backslash": r"\@mallory \\@mallory",
    "mention among marks": "**@mallory** _@mallory_ ~~@mallory~~",
    "reference": "fixes #12, closes pytorch/pytorch#7",
    "reference behind an entity": "&num;12 &#35;12",
    "reference, old style": "gh-12 GH-13",
    "address of an issue": "https://github.com/pytorch/pytorch/issues/1",
    "address in capitals": "HTTPS://GITHUB.COM/pytorch/pytorch/pull/2",
    "address without a scheme": "www.evil.example/x",
    "address of another scheme": "ftp://evil.example/x",
    "autolink": "<https://evil.example> <mailto:me@evil.example> <me@evil.example>",
    "mail": "mallory@evil.example mailto:mallory@evil.example",
    "link": "[click](https://evil.example)",
    "link to a script": "[click](javascript:alert(1)) [click](data:text/html;base64,AAAA)",
    "link without a scheme": "[click](//evil.example) [click](/pytorch/pytorch/issues/1)",
    "link by reference": "[click][x]\n\n[x]: https://evil.example",
    "definition of a reference": "[Commits in between]: //evil.example 'x'",
    "image": "![x](//evil.example/x.png)",
    "footnote": "x[^1]\n\n[^1]: y",
    "code": "`code` ``code``",
    "end of a fence": "```\n# out\n",
    "end of any fence": "````````````\n# out\n",
    "a hundred backticks": "`" * 100 + "\n# out\n",
    "end of a fence of waves": "~~~\n# out\n",
    "nested fences": "~~~\n```\n~~~~\n````\n# out",
    "html": "<b>x</b><h1>x</h1><hr>",
    "script": "<script>alert(1)</script><style>*{}</style>",
    "image that runs": "<img src=x onerror=alert(1)>",
    "anchor": "<a href='//evil.example'>x</a>",
    "unfinished html": "<a href='",
    "fold": "</details></summary><details open><summary>x</summary>",
    "fold in capitals": "</DETAILS><SUMMARY>",
    "table": "</td></tr></table>",
    "comment": "<!-- x -->",
    "unfinished comment": "<!-- x",
    "end of a comment": "--> <!--> --!>",
    "comment in pieces": "<\u200b!-- <!\u200b-- <\x00!-- x -->",
    "forged mark": "<!-- nightfuzz signature=v2-0123456789ab state=wontfix mac=00 -->",
    "processing instruction": "<?php x ?> <![CDATA[ x ]]> <!DOCTYPE x>",
    "heading": "# heading\n## heading",
    "heading by underline": "heading\n===\nheading\n---\n",
    "rule": "---\n***\n___",
    "list": "- x\n* y\n+ z\n1. n\n2) m",
    "task": "- [x] done",
    "quote": "> quote\n>> quote",
    "alert": "> [!WARNING]\n> x",
    "cells": "a | b | c\n|---|---|\n| x |",
    "escaped cell": r"a \| b \\| c",
    "emphasis": "*x* **x** _x_ __x__ ~~x~~ ~x~",
    "backslash at the end": "x\\",
    "mathematics": "$x$ $$x$$ $`x`$",
    "template": "{{ script }} {% include 'triage.md.j2' %} ${{ secrets.TOKEN }}",
    "look-alikes": "\uff20mallory \uff03\uff11 \u202emallory@\u202c \u2066x\u2069 \u200f",
    "zero width": "@\u200bmallory #\u200b1 \ufeff\u200d",
    "colours": "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m",
    "controls": "\x00\x01\x08\x7f\x85\u2028x\u2029y\x0bz\x0c",
    "half a character": "x \ud800 \udfff y",
    "carriage returns": "a\rb\r\nc",
    "a line of 60 kB": "x" * 60_000,
    "60 kB of marks": "@a #1 ``` <b> " * 4_300,
    "github token": "ghp_" + "a1B2" * 9,
    "github token, new": "github_pat_" + "a1B2a1B2_" * 5,
    "cloud key": "AKIA" + "A1B2" * 4 + " aws_secret_access_key=a1B2a1B2Hunter2Hunter2",
    "json web token": "eyJhbGciOiJIUzI1NiJ9.a1B2a1B2a1B2.a1B2a1B2a1B2",
    "password in an address": "https://mallory:Hunter2Hunter2@evil.example/simple",
    "header": "Authorization: Bearer a1B2a1B2a1B2\nauthorization: Basic a1B2a1B2a1B2==",
    "assignment": 'PASSWORD="Hunter2Hunter2" api_key: Hunter2Hunter2 MY_TOKEN=Hunter2Hunter2',
    "private key": "-----BEGIN OPENSSH PRIVATE KEY-----\na1B2a1B2\n-----END OPENSSH PRIVATE KEY-----",
    "paths": "/home/mallory/x.py /root/.ssh/id_rsa /tmp/secret/x 'file:///home/mallory/y'",
    "hosts": "on buildbox-9, node7.corp.example:22 and BUILDBOX-9",
}

SCRIPT = """import torch


def f(x):
    return x + 1


x = torch.ones(2)
assert torch.equal(torch.compile(f)(x), f(x))
"""

ALLOWED = frozenset(
    [
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "ul",
        "ol",
        "li",
        "code",
        "pre",
    ]
) | {"strong", "em", "blockquote", "details", "summary"}
ACTS = {
    "mention": re.compile(r"(?<![\w`])@[A-Za-z0-9]"),
    "reference": re.compile(r"#\d|\bGH-\d", re.IGNORECASE),
    "address": re.compile(r"(?:https?|ftp)://|\bwww\.\w", re.IGNORECASE),
}


@dataclass
class Page(HTMLParser):
    """A rendered page: the tags as they come, and the text outside of code."""

    tags: list[str] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str | None]] = field(default_factory=list)
    within: int = 0

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a tag and its attributes."""
        self.tags.append(tag)
        self.attributes += attrs
        self.within += tag in ("code", "pre")

    def handle_endtag(self, tag: str) -> None:
        """Take note of an end."""
        self.tags.append(f"/{tag}")
        self.within -= tag in ("code", "pre")

    def handle_data(self, data: str) -> None:
        """Keep what is no code."""
        if not self.within:
            self.prose.append(data)

    def handle_comment(self, data: str) -> None:
        """Take note of a comment, which a reader of marks would see."""
        self.comments.append(data)


def rendered(markdown: str) -> Page:
    """As GitHub shows it, apart from the HTML that it takes out itself."""
    page = Page()
    page.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))
    page.close()
    return page


def everywhere(text: str) -> Finding:
    """A finding with `text` wherever something outside of the bot had a hand in it."""
    line = f"{text} z"
    build = replace(toy_build.BUILD, version=line, variant=line, git_sha=line, python=line)
    difference = {
        "where": line,
        "detail": {"expected": [line], "float64": [line], "actual": [line], "at": line, "phase": line},
    }
    suspect = Suspect(
        engine=line,
        revision=line,
        build=build,
        kind=Kind.EXCEPTION,
        aspect=Aspect.OUTCOME,
        script=SCRIPT,
        expect=Expect(Ending.EXCEPTION),
        detail={"seed": line, "llm": line},
    )
    run = Run(Ending.EXCEPTION, exception=line, message=line, compiled_side=True, log=f"a\n{text}\nz")
    finding = Finding(
        signature=line,
        suspect=suspect,
        script=SCRIPT,
        operators=(line, line),
        dtypes=(line,),
        stage="unknown",
        label=line,
        confirmed=line,
        runs=(run,),
        rungs={"eager": line, "inductor": "exception"},
        suspects=(suspect.id,),
        title=line,
        culprits=(line, line),
        near=(line,),
        detail={"difference": difference, "reason": line},
    )
    return stand(finding, Standing(InStore.NEW, OnBuilds.REGRESSION, line))


@cache
def text_of(form: Form, text: str) -> bodies.Text:
    """The issue in a form, of a finding that has `text` everywhere."""
    if form is Form.TRIAGE:
        return bodies.issue(everywhere(text), upstream=Form.PT2, hosts=HOSTS)
    person = Person(login="ada", words=f"{text} z", at=f"{text} z")
    return bodies.upstream(everywhere(text), form, person=person, hosts=HOSTS)


@cache
def harmless_tags(form: Form) -> tuple[str, ...]:
    """The structure that a page has."""
    return tuple(rendered(text_of(form, "harmless").body).tags)


def assert_harmless(markdown: str, allowed_mention: str = "@ada") -> Page:
    page = rendered(markdown)
    prose = "\n".join(page.prose).replace(allowed_mention, "")
    assert {name: found.group() for name, shape in ACTS.items() if (found := shape.search(prose))} == {}
    assert not page.comments
    assert "<!--" not in markdown and "-->" not in markdown
    assert {tag.strip("/") for tag in page.tags} <= ALLOWED
    assert {name for name, _ in page.attributes} <= {"lang"}
    assert [leak for leak in LEAKS if leak.lower() in markdown.lower()] == []
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", markdown)
    markdown.encode()
    return page


def test_the_table_is_long_enough_to_mean_something() -> None:
    assert len(set(HOSTILE.values())) >= 60


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_acts_or_leaks_and_the_page_stays_as_it_is(name: str, form: Form) -> None:
    text = text_of(form, HOSTILE[name])
    page = assert_harmless(text.body)
    assert tuple(page.tags) == harmless_tags(form)
    assert SCRIPT.strip() in text.body
    assert len(text.body) <= bodies.LONGEST_BODY


@pytest.mark.parametrize("name", HOSTILE)
def test_a_title_and_labels_are_one_line_that_does_nothing(name: str) -> None:
    text = text_of(Form.TRIAGE, HOSTILE[name])
    for line in (text.title, *text.labels):
        assert not re.search(r"[\r\n`]", line)
        assert {what for what, shape in ACTS.items() if shape.search(line)} == set()
        assert [leak for leak in LEAKS if leak.lower() in line.lower()] == []
    assert all(len(label) <= 50 for label in text.labels)


@pytest.mark.parametrize("what", Transition)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_comment_told_hostile_things_does_nothing(name: str, what: Transition) -> None:
    line = f"{HOSTILE[name]} z"
    names = ("outcome", "before", "after", "link", "build", "at", "title", "by", "url", "said")
    told = {**dict.fromkeys(names, line), "body": text_of(Form.PT2, HOSTILE[name]).body}
    assert_harmless(bodies.comment(what, everywhere(HOSTILE[name]), told, HOSTS))
