"""How models and their hosts misbehave, and what must become of each: data for the tests and docs/models.md.

Each is put to every stage where it can happen, in every way of asking: first and then the right answer; again
and again with a formatter and a fallback model at hand; again and again with nobody to help.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import yaml

from agents.abilities import Output
from knowledge.language import Language
from tests.misbehaving import (
    CHAT,
    CHOICES,
    DECISIONS,
    EMPTY_LISTS,
    EXAMPLE,
    FLAGS,
    LISTS,
    LISTS_OF_ONE,
    NO,
    NOTHING,
    OBJECTS,
    OTHER_NAMES,
    SORRY,
    SPOKEN_OF,
    TEXTS,
    WORDS,
    all_rules_broken,
    another,
    as_object_each,
    behind_paragraphs,
    called,
    camel,
    choice,
    cut_off,
    cut_off_call,
    deep,
    each_text,
    first_changed,
    in_markdown,
    in_quotes,
    in_xml,
    said_by_host,
    set_field,
    strange_source,
    template,
    thinking,
    with_score,
    without,
    without_nulls,
)
from tests.misbehaving_desk import WAYS, End
from tests.scripted_openai.replies import Call, Raw, Refusal, Text, ToolCalls
from tests.unit.wire_answers import SCHEMAS, as_json, renamed, written
from tests.usual_answers import SAID, STAGES, Answer, Came, Case, StageName, right_answer

Fate = tuple[End, int]
"""What becomes of it, and how many calls that takes beyond the one of a good answer."""


@dataclass(frozen=True)
class Fates:
    """Of one that comes `once`, of one that comes `always`, and of the latter where no other model helps.

    Where it is the formatter that misbehaves, it does so as well when it is to shape its own answer: one call
    more. An article goes on without its title page where it fails for want of other answers.
    """

    once: Fate
    always: Fate
    alone: int
    by_host: bool = False  # nothing that anybody could do without

    def of(self, stage: StageName) -> tuple[Fate, Fate, Fate]:
        always = self.always
        if stage == "formatter" and always[0] == "shaped":
            always = "fallback", always[1] + 1
        missed: End = "done without" if stage == "front" and not self.by_host else "failed and kept"
        return self.once, always, (missed, self.alone)


@dataclass(frozen=True)
class Harmless:
    """It costs no call, however often it comes."""

    end: End

    def of(self, _: StageName) -> tuple[Fate, Fate, Fate]:
        return (self.end, 0), (self.end, 0), (self.end, 0)


AS_IT_WAS = Harmless("as it was")
REPAIRED = Harmless("repaired")
ASKED_AGAIN = Fates(("asked again", 1), ("shaped", 3), 3)
# The shape is right and a rule was broken, or there is nothing to put into one.
NOT_SHAPED = Fates(("asked again", 1), ("fallback", 3), 2)
NOT_HEARD = Fates(("asked again", 1), ("fallback", 4), 3)  # the formatter said more than was said
CUT_OFF = Fates(("asked again", 1), ("fallback", 2), 1)  # it is told to be shorter, once
NOT_ASKED_AGAIN = Fates(("fallback", 1), ("fallback", 1), 0)
BY_THE_HOST = Fates(("host asked again", 1), ("fallback", 4), 3, by_host=True)
UNREADABLE = Fates(("fallback", 1), ("fallback", 1), 0, by_host=True)

AS_TEXT: tuple[Output, ...] = ("native", "prompted")
AS_CALL: tuple[Output, ...] = ("tool",)
ANALYST: tuple[StageName, ...] = ("analyst",)
SECTION: tuple[StageName, ...] = ("section",)
PLANNER: tuple[StageName, ...] = ("planner",)
REVIEWER: tuple[StageName, ...] = ("reviewer",)
PLAIN_WORDS: Mapping[StageName, Fates | Harmless] = {"reviewer": NOT_SHAPED}  # no review is made of them


def unsaid(*stages: StageName) -> Mapping[StageName, Fates | Harmless]:
    """Where the formatter's answer says what was not said: it is not heard, and no review is made at all."""
    return {**PLAIN_WORDS, **dict.fromkeys(stages, NOT_HEARD)}


@dataclass(frozen=True)
class Misbehaviour:
    """`came` makes it of the answer that was meant; `meant` makes that of the usual one."""

    name: str
    came: Callable[[Case], Came]
    fates: Fates | Harmless
    stages: Collection[StageName] = STAGES
    ways: Collection[Output] = WAYS
    meant: Callable[[Answer], Answer] = lambda answer: answer
    times: int = 1  # before the right answer comes, where that comes
    but: Mapping[StageName, Fates | Harmless] = field(default_factory=dict)  # stages where it ends otherwise

    def fates_at(self, stage: StageName) -> tuple[Fate, Fate, Fate]:
        return self.but.get(stage, self.fates).of(stage)

    def case(self, stage: StageName, language: Language) -> Case:
        return Case(stage, language, self.meant(right_answer(stage, language)))

    def way_at(self, stage: StageName) -> Output:
        """In turn over the stages: each of the ways comes without three times the time."""
        ways, at = list(self.ways), list(self.stages).index(stage)
        return ways[(at + at // len(WAYS)) % len(ways)]


AROUND = [
    Misbehaviour("the JSON in a Markdown fence", lambda c: f"```json\n{as_json(c.answer)}\n```", REPAIRED),
    Misbehaviour("words before and after it", lambda c: as_json(c.answer).join(CHAT[c.language]), REPAIRED),
    Misbehaviour("thoughts in `<think>` before it", thinking, AS_IT_WAS, ways=AS_TEXT),  # PydanticAI knows it
    Misbehaviour("thoughts in `<think>` in a call", thinking, REPAIRED, ways=AS_CALL),
    Misbehaviour("thoughts without an opening tag",
                 lambda c: f"{SAID[c.language]}</think>{as_json(c.answer)}", REPAIRED),
    Misbehaviour("markers of a channel",
                 lambda c: f"<|channel|>final<|message|>{as_json(c.answer)}<|return|>", REPAIRED),
    Misbehaviour("a byte order mark and zero-width spaces",
                 lambda c: f"\ufeff\u200b{as_json(c.answer)}\u200b", REPAIRED),
    Misbehaviour("the same answer twice", lambda c: f"{as_json(c.answer)}\n{as_json(c.answer)}", REPAIRED),
    Misbehaviour("a template, then the answer", lambda c: f"{template(c)}\n{as_json(c.answer)}", REPAIRED),
    Misbehaviour("a draft, then another answer",
                 lambda c: f"{as_json(another(c))}\n\n{as_json(c.answer)}", ASKED_AGAIN),
    Misbehaviour("2 MB of words after it",
                 lambda c: said_by_host({"content": as_json(c.answer) + SORRY[c.language] * 60_000}),
                 REPAIRED, ways=AS_TEXT, but=PLAIN_WORDS),  # so many may take a decision back
    Misbehaviour("a sentence that speaks of the answer",
                 lambda c: as_json(c.answer).join(SPOKEN_OF[c.language]), ASKED_AGAIN),
    Misbehaviour("a text with JSON as an example", lambda c: EXAMPLE[c.language], ASKED_AGAIN,
                 but=unsaid("analyst", "front", "section", "planner")),
]  # fmt: skip
WRAPPED = [
    Misbehaviour("wrapped in a key", lambda c: {"result": c.answer}, REPAIRED),
    Misbehaviour("in a list", lambda c: as_json([c.answer]), REPAIRED),
    Misbehaviour("JSON in a string", lambda c: json.dumps(as_json(c.answer)), REPAIRED),
    Misbehaviour("a function with arguments, as text",
                 lambda c: {"type": "function", "function": {"name": c.tool, "arguments": as_json(c.answer)}},
                 REPAIRED),
    Misbehaviour("a call in tags",
                 lambda c: f"<tool_call>{as_json({'name': c.tool, 'arguments': c.answer})}</tool_call>",
                 REPAIRED),
    Misbehaviour("wrapped, with a text beside it",
                 lambda c: {"result": c.answer, "more": SAID[c.language]}, ASKED_AGAIN),
    Misbehaviour("in the form of a schema", lambda c: {"type": "object", "properties": c.answer}, REPAIRED),
    Misbehaviour("a list of names and values",
                 lambda c: as_json([{"name": name, "value": one} for name, one in c.answer.items()]),
                 ASKED_AGAIN, but=PLAIN_WORDS),
    Misbehaviour("an object for each field, line by line", as_object_each, REPAIRED),
]  # fmt: skip
WRITTEN = [
    Misbehaviour("commas after last entries", lambda c: written(c.answer, before_end=",\n"), REPAIRED),
    Misbehaviour("comments in it",
                 lambda c: written(c.answer, comma=", // it's so\n", before_end=" /* { */"), REPAIRED),
    Misbehaviour("a Python literal: True, None, single quotes", lambda c: repr(c.answer), REPAIRED),
    Misbehaviour("single quotation marks", in_quotes("'", "'"), REPAIRED),
    Misbehaviour("typographic quotation marks", in_quotes("“", "”"), REPAIRED),
    Misbehaviour("「」 for quotation marks", in_quotes("「", "」"), ASKED_AGAIN),
    Misbehaviour("names without quotation marks", lambda c: written(c.answer, name=str), REPAIRED),
    Misbehaviour("full-width commas and colons",
                 lambda c: written(c.answer, comma="，", colon="："), REPAIRED),
    Misbehaviour("line breaks in strings as they are",
                 lambda c: as_json(c.answer).replace("\\n", "\n"), REPAIRED),
    Misbehaviour("quotation marks in strings as they are",
                 lambda c: as_json(c.answer).replace('\\"', '"'), REPAIRED),
    Misbehaviour("control characters in strings",
                 lambda c: as_json(c.answer).replace("\\u0007", "\x07"), REPAIRED,
                 meant=behind_paragraphs("\x07")),
    Misbehaviour("a backslash that JSON does not know",
                 lambda c: as_json(c.answer).replace("\\\\", "\\"), REPAIRED,
                 meant=behind_paragraphs("C:\\path")),
    Misbehaviour("half of a surrogate pair",
                 lambda c: json.dumps(c.answer).replace("\\ufffd", "\\ud83d"), REPAIRED,
                 meant=behind_paragraphs("\ufffd")),
    Misbehaviour("a name twice, the right value last",
                 lambda c: f'{{"{next(iter(c.answer))}": 0, {as_json(c.answer)[1:]}', AS_IT_WAS),
    Misbehaviour("10,000 brackets around it",
                 lambda c: "[" * 10_000 + as_json(c.answer) + "]" * 10_000, ASKED_AGAIN),
    Misbehaviour("10,000 brackets in a field", deep, ASKED_AGAIN, but={"planner": NOT_HEARD}),
    Misbehaviour("cut off, as if it were done", cut_off, NOT_SHAPED),
]  # fmt: skip
NAMES = [
    Misbehaviour("camelCase names", lambda c: renamed(c.answer, camel), REPAIRED,
                 stages=("formatter", "analyst", "planner", "reviewer")),
    Misbehaviour("names in capitals", lambda c: renamed(c.answer, str.upper), REPAIRED),
    Misbehaviour("a field under another name",
                 lambda c: {OTHER_NAMES.get(name, name): one for name, one in c.answer.items()}, REPAIRED),
    Misbehaviour("a field too many", lambda c: {**c.answer, "language": c.language}, REPAIRED),
    Misbehaviour("a text in a field too many", lambda c: {**c.answer, "more": SAID[c.language]}, ASKED_AGAIN),
    Misbehaviour("its reasons in a field", lambda c: {"reasoning": SAID[c.language], **c.answer}, REPAIRED),
    Misbehaviour("nulls left out", lambda c: without_nulls(c.answer), REPAIRED,
                 stages=("planner", "reviewer")),
    Misbehaviour("an empty list left out", without(EMPTY_LISTS), REPAIRED, stages=EMPTY_LISTS),
    Misbehaviour("a text left out", without(TEXTS), ASKED_AGAIN, stages=TEXTS,
                 but=dict.fromkeys(("front", "section"), NOT_HEARD)),
    Misbehaviour("other fields", lambda c: {"status": "ok", "message": SAID[c.language]}, ASKED_AGAIN,
                 but=unsaid("front", "section")),
]  # fmt: skip
VALUES = [
    Misbehaviour("null for an empty list", set_field(EMPTY_LISTS, lambda c: None), REPAIRED,
                 stages=EMPTY_LISTS),
    Misbehaviour("a word for nothing, for a list", set_field(EMPTY_LISTS, lambda c: NOTHING[c.language]),
                 REPAIRED, stages=EMPTY_LISTS),
    Misbehaviour("one entry without its list",
                 set_field(LISTS_OF_ONE, lambda c: c.answer[LISTS_OF_ONE[c.stage]][0]), REPAIRED,
                 stages=LISTS_OF_ONE),
    Misbehaviour("a list in a string", set_field(LISTS, lambda c: as_json(c.answer[LISTS[c.stage]])),
                 REPAIRED),
    Misbehaviour("a text for an object whose only text it can be",
                 lambda c: c.answer | {"risks": [SAID[c.language]]}, REPAIRED, stages=ANALYST),
    Misbehaviour("texts for other objects", set_field(OBJECTS, lambda c: [SAID[c.language]]), ASKED_AGAIN,
                 stages=OBJECTS),
    Misbehaviour("an object for a text", set_field(TEXTS, lambda c: {"text": c.answer[TEXTS[c.stage]]}),
                 REPAIRED, stages=TEXTS),
    Misbehaviour("two texts for one", set_field(TEXTS, lambda c: [SAID[c.language]] * 2), ASKED_AGAIN,
                 stages=TEXTS, but={"section": NOT_HEARD}),
    Misbehaviour("a number as text", lambda c: first_changed(c, number="第1节"), REPAIRED,
                 stages=PLANNER),
    Misbehaviour('a score of "71"', with_score("71"), REPAIRED, stages=REVIEWER),
    Misbehaviour('a score of "71/100"', with_score("71/100"), REPAIRED, stages=REVIEWER),
    Misbehaviour('a score of "7/10"', with_score("7/10"), ASKED_AGAIN, stages=REVIEWER),
    Misbehaviour("a score of 71.0", with_score(71.0), REPAIRED, stages=REVIEWER),
    Misbehaviour("a score of 71.5", with_score(71.5), ASKED_AGAIN, stages=REVIEWER),
    Misbehaviour("a score below 0", with_score(-1), ASKED_AGAIN, stages=REVIEWER),
    Misbehaviour("a score of 400 digits", with_score(10**400), ASKED_AGAIN, stages=REVIEWER),
    Misbehaviour("NaN for null", lambda c: as_json(c.answer).replace("null", "NaN"), REPAIRED,
                 stages=("planner", "reviewer")),
    Misbehaviour("a choice in capitals and bold", choice(lambda c: "**HIGH**"), REPAIRED, stages=CHOICES),
    Misbehaviour("a choice in the article's language", choice(lambda c: WORDS[c.language]), REPAIRED,
                 stages=CHOICES),
    Misbehaviour("a decision in the article's language",
                 lambda c: c.answer | {"decision": DECISIONS[c.language]}, REPAIRED, stages=REVIEWER),
    Misbehaviour("a choice that there is not", choice(lambda c: SAID[c.language]), ASKED_AGAIN,
                 stages=CHOICES),
    Misbehaviour("a word for false", set_field(FLAGS, lambda c: NO[c.language]), REPAIRED, stages=FLAGS),
    Misbehaviour("ids of sources in brackets, one without its list",
                 lambda c: as_json(c.answer).replace('["S1"]', '"【S1】"').replace('"S1",', '"[S1]",'),
                 REPAIRED, stages=("formatter", "analyst")),
    Misbehaviour("a text over its bound", set_field(TEXTS, lambda c: SAID[c.language] * 400), ASKED_AGAIN,
                 stages=TEXTS, but={"section": NOT_HEARD}),
    Misbehaviour("10,000 entries", set_field(LISTS, lambda c: ["…"] * 10_000), ASKED_AGAIN,
                 stages=("formatter", "analyst", "section", "planner", "reviewer"),  # too many tags are cut
                 but={"planner": NOT_HEARD}),
]  # fmt: skip
CONTENTS = [
    Misbehaviour("a section in a fence",
                 lambda c: c.answer | {"content": f"```markdown\n{c.answer['content']}\n```"}, REPAIRED,
                 stages=SECTION),
    Misbehaviour("line breaks escaped twice",
                 lambda c: each_text(lambda text: text.replace("\n", "\\n"))(c.answer), REPAIRED,
                 stages=TEXTS),
    Misbehaviour("the answer inside of its text",
                 set_field(TEXTS, lambda c: as_json(c.answer)), REPAIRED, stages=TEXTS),
    Misbehaviour("a mark of the end in its texts",
                 set_field(TEXTS, lambda c: f"{c.answer[TEXTS[c.stage]]}<|im_end|>"), REPAIRED, stages=TEXTS),
]  # fmt: skip
RULES = [
    Misbehaviour("a decision with a word of the template for its reasons",
                 lambda c: c.answer | {"feedback": "string"}, ASKED_AGAIN, stages=REVIEWER),
    Misbehaviour("a source that there is not", strange_source, NOT_SHAPED,
                 stages=("analyst", "section", "planner")),
    Misbehaviour("a word of the template for each text",
                 lambda c: each_text(lambda _: "string")(c.answer), NOT_SHAPED,
                 but={**dict.fromkeys(CHOICES, ASKED_AGAIN), **unsaid("analyst")}),
    Misbehaviour("all rules broken, and once more", all_rules_broken,
                 Fates(("asked again", 2), ("fallback", 3), 2), times=2,
                 stages=("analyst", "front", "section", "planner", "reviewer")),
]  # fmt: skip
NO_JSON = [
    Misbehaviour("YAML", lambda c: yaml.safe_dump(c.answer, allow_unicode=True), ASKED_AGAIN),
    Misbehaviour("XML", lambda c: in_xml(c.answer), ASKED_AGAIN),
    Misbehaviour("Markdown", lambda c: in_markdown(c.answer), ASKED_AGAIN),
    Misbehaviour("an excuse", lambda c: SORRY[c.language], ASKED_AGAIN,
                 but=unsaid("analyst", "front", "section", "planner")),
    Misbehaviour("thoughts and nothing else", lambda c: f"<think>{SAID[c.language]}", ASKED_AGAIN,
                 but={**unsaid("front"), "analyst": NOT_SHAPED, "section": NOT_SHAPED},
                 stages=("formatter", "analyst", "front", "section", "reviewer")),
    Misbehaviour("the schema sent back", lambda c: SCHEMAS[c.tool].model_json_schema(), ASKED_AGAIN,
                 but=unsaid("analyst", "front", "section", "planner")),
    Misbehaviour("nothing", lambda c: "", NOT_SHAPED),
    Misbehaviour("white space", lambda c: " \n\u3000\n", NOT_SHAPED),
    Misbehaviour("`{}`", lambda c: {}, NOT_SHAPED),
    Misbehaviour("`null`", lambda c: "null", NOT_SHAPED),
    Misbehaviour("a call without arguments", lambda c: ToolCalls([Call(c.tool, "")], broken=True), NOT_SHAPED,
                 ways=AS_CALL),
]  # fmt: skip
OTHERWISE = [
    Misbehaviour("a call where text was due", lambda c: called(c.tool, c.answer), REPAIRED, ways=AS_TEXT),
    Misbehaviour("text where a call was due", lambda c: Text(as_json(c.answer), broken=True), REPAIRED,
                 ways=AS_CALL),
    Misbehaviour("a call of a tool that there is not, with the answer", lambda c: called("json", c.answer),
                 REPAIRED),
    Misbehaviour("a call of a tool that there is not",
                 lambda c: called("search", {"query": SAID[c.language]}), ASKED_AGAIN,
                 but=unsaid("front", "section")),
    Misbehaviour("the answer in two calls at once", lambda c: called(c.tool, c.answer, times=2), AS_IT_WAS,
                 ways=AS_CALL),
    Misbehaviour("two equal calls where text was due", lambda c: called(c.tool, c.answer, times=2), REPAIRED,
                 ways=AS_TEXT),
    Misbehaviour("words beside the call", lambda c: called(c.tool, c.answer, text=SORRY[c.language]),
                 AS_IT_WAS, ways=AS_CALL),
    Misbehaviour("a refusal", lambda c: Refusal(SORRY[c.language]), NOT_ASKED_AGAIN),
    Misbehaviour("stopped by a content filter",
                 lambda c: Text("", finish_reason="content_filter", broken=True), NOT_ASKED_AGAIN),
    Misbehaviour("cut off at the limit", lambda c: said_by_host({"content": cut_off(c)}, "length"),
                 CUT_OFF, ways=AS_TEXT),
    Misbehaviour("a call cut off at the limit", cut_off_call, CUT_OFF, ways=AS_CALL),
    Misbehaviour("a message without content", lambda c: said_by_host({"content": None}), NOT_SHAPED),
    Misbehaviour("`choices: []`", lambda c: said_by_host({}, choices=[]), BY_THE_HOST),
    Misbehaviour("an error with status 200",
                 lambda c: Raw(200, b'{"error": {"message": "Provider returned error", "code": 502}}'),
                 BY_THE_HOST),
    Misbehaviour("bytes that are no UTF-8",
                 lambda c: Raw(200, said_by_host({"content": "@"}).body.replace(b"@", b"\xff\xfe")),
                 UNREADABLE),
]  # fmt: skip
MISBEHAVIOURS = [*AROUND, *WRAPPED, *WRITTEN, *NAMES, *VALUES, *CONTENTS, *RULES, *NO_JSON, *OTHERWISE]
