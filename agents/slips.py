"""What models do wrong in a structured answer: the repairs with their reasons, and words for words.

The tables hold what has one meaning; whatever else a model says goes back to it.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

RepairName = Literal[
    "thinking",
    "fence",
    "chat",
    "invisible",
    "stray_comma",
    "missing_comma",
    "comment",
    "python_literal",
    "quote_marks",
    "unquoted",
    "full_width_mark",
    "raw_newline",
    "inner_quotes",
    "bad_escape",
    "broken_character",
    "double_encoded",
    "escaped_text",
    "fenced_text",
    "end_mark",
    "wrapped",
    "scattered",
    "placeholder",
    "renamed",
    "extra_field",
    "missing_null",
    "missing_list",
    "null_for_list",
    "null_word",
    "null_entry",
    "single_for_list",
    "list_for_single",
    "text_for_object",
    "object_for_text",
    "number_for_text",
    "text_for_number",
    "whole_float",
    "not_a_number",
    "text_for_boolean",
    "choice_spelling",
    "choice_translated",
    "source_id_form",
]

REPAIRS: Mapping[RepairName, str] = {
    "thinking": "Reasoning stood in front of the answer: thinking models put it into the text.",
    "fence": "The JSON stood in a Markdown fence, as in chats.",
    "chat": "Words stood before or after the JSON: chat models introduce and sum up what they send.",
    "invisible": "A byte order mark or zero-width space stood around the JSON.",
    "stray_comma": "A comma too many, after the last entry or twice: JavaScript and Python allow the first.",
    "missing_comma": "A comma was missing between two entries: small models lose it at line ends.",
    "comment": "Comments stood in the JSON: models explain their choices where they make them.",
    "python_literal": "True, None or undefined for true and null: models trained on code write its literals.",
    "quote_marks": "Single or typographic quotation marks around strings, as in Python and in prose.",
    "unquoted": "Names or single words without quotation marks, as in JavaScript and YAML.",
    "full_width_mark": "A full-width colon or comma between entries, as in Chinese and Japanese text.",
    "raw_newline": "Line breaks or tabs stood in strings as they are: Markdown was written into them.",
    "inner_quotes": "Quotation marks in a text were not escaped; they came in pairs, so its end is clear.",
    "bad_escape": r"A backslash that JSON does not know, such as \d or \': patterns, paths, apostrophes.",
    "broken_character": "Half of a surrogate pair: an emoji was cut by the tokenizer.",
    "double_encoded": "JSON in a string: some models and gateways encode arguments twice.",
    "escaped_text": r"Line breaks or letters of a text were escaped twice: readers would see \n and \u5feb.",
    "fenced_text": "A whole text in Markdown stood in a fence, and would be shown as code.",
    "end_mark": "A text ended with what ends a model's turn, such as <|im_end|>: its host let it pass.",
    "wrapped": "It stood under a key such as result, arguments, 1 or the tool's name, or in a list of one.",
    "scattered": "Each field came in an object of its own, one below the other: JSON Lines.",
    "placeholder": "Words of a template, such as string or …, for each text, or with a decision: none.",
    "renamed": "A field had another name or spelling, such as evidenceGaps for missing_evidence.",
    "extra_field": "Remarks, numbers and labels that nobody asked for, and that stand for nothing missing.",
    "missing_null": "A field that may be null was left out: models omit what is empty.",
    "missing_list": "A list was left out: models omit what is empty.",
    "null_for_list": "null for a list without entries.",
    "null_word": "A word for nothing, such as N/A, 无 or なし, where null or an empty list was meant.",
    "null_entry": "A list held null among its entries.",
    "single_for_list": "One entry without the list around it: models drop the brackets around a single one.",
    "list_for_single": "A list of one where one value was wanted.",
    "text_for_object": "A text where an object was wanted whose other fields are lists: it is its only text.",
    "object_for_text": "An object with one text where the text was wanted.",
    "number_for_text": "A whole number where a text was wanted, such as a section's number.",
    "text_for_number": "A number as text, such as '71' or 71/100.",
    "whole_float": "A whole number with decimals, such as 71.0.",
    "not_a_number": "NaN where null was meant: that is how Python writes a missing number.",
    "text_for_boolean": "A boolean as a word or as 0 and 1.",
    "choice_spelling": "A choice in capitals or with marks around it, such as **Approve**.",
    "choice_translated": "A choice in the article's language or as a plain synonym: 需修改 for revise.",
    "source_id_form": "A source's id in brackets, full width, small or bare, such as [S2], ｓ２ or 2.",
}

# For each field the names under which models send it, as `folded` has them; plurals need no line.
ALIASES: Mapping[str, frozenset[str]] = {
    field: frozenset(names.split())
    for field, names in {
        "categories": "category 分类 分類 カテゴリ カテゴリー",
        "change": "changerequest instruction edit task 修改 変更",
        "claim": "statement fact assertion 主张 论断 主張",
        "confidence": "certainty confidencelevel 置信度 可信度 確信度 信頼度",
        "content": "text body markdown sectioncontent sectiontext 内容 正文 本文",
        "decision": "verdict recommendation judgement judgment 决定 结论 判定 決定",
        "description": "desc detail details issue problem risk summary 描述 说明 説明",
        "feedback": "comment overallfeedback overallcomment remark 反馈 总评 講評 フィードバック",
        "findings": "facts claims keyfindings 发现 所見",
        "gaps": "missing missinginformation openquestions evidencegaps missingevidence 缺口 不足",
        "heading": "title sectiontitle sectionheading header 标题 標題 見出し",
        "importance": "priority importancelevel 重要性 重要度",
        "issues": "problem 问题 問題 問題点",
        "k": "topk limit count number numresults maxresults",
        "key_points": "points keyfindings takeaways keytakeaways 要点",
        "missing_evidence": "gaps evidencegaps missing missinginformation 缺失证据 証拠不足",
        "needs_more_research": "moreresearch moreresearchneeded needsresearch requiresmoreresearch",
        "notes": "remark comments 备注 備考 メモ",
        "number": "sectionnumber num 编号 番号",
        "outline": "sections articleoutline structure 大纲 構成 構成案",
        "passage_id": "passage id",
        "point": "keypoint text statement 要点",
        "queries": "query searchquery searchqueries keyword search question q 查询 検索 クエリ",
        "quote": "quotation excerpt verbatim verbatimquote 引用 引文 原文",
        "rewrite_title": "updatetitle changetitle titlerewrite newtitle",
        "risks": "caveats limitations 风险 リスク",
        "score": "rating qualityscore overallscore 评分 分数 点数 スコア",
        "section": "sectionnumber sectionheading location 章节 小节 節 セクション",
        "sections": "outline plannedsections 章节 セクション",
        "severity": "severitylevel level priority importance 严重程度 严重性 深刻度 重要度",
        "source_id": "source sourceids sources citation reference 来源 出典",
        "source_ids": "sourceid sources citations references refs 来源 出典",
        "suggested_fix": "fix suggestion suggestedchange recommendation proposedfix 建议 修改建议 修正案",
        "summary": "overview abstract 摘要 总结 要約 まとめ",
        "tags": "keywords labels 标签 標籤 タグ",
        "title": "headline heading articletitle 标题 標題 タイトル",
    }.items()
}

# Names that say something about an answer and are never a field of one: dropped whatever is missing.
REMARKS = frozenset(
    {"reasoning", "thinking", "thought", "thoughts", "explanation", "rationale", "reason"}
    | {"type", "kind", "category", "id", "schema", "purpose", "intent"}
)
# What stands beside `properties`, where an answer came in the form of its schema.
_OF_A_SCHEMA = frozenset({"required", "defs", "definitions", "additionalproperties"})
_LONGEST_LABEL = 40  # characters that may be dropped, half as many in Chinese: a word or two, no sentence
_WIDE = re.compile(r"[\u3040-\u9fff\uac00-\ud7a3]")
_SENTENCE = re.compile(r"[。！？\n]|[.!?](?:\s|$)|\[S?\d")  # its end, or a citation

_CHOICE_WORDS: Mapping[str, str] = {
    word: choice
    for choice, words in {
        "high": "critical|severe|高|高い|严重|嚴重|重大",
        "medium": "moderate|med|mid|中|中等|中程度|中度",
        "low": "minor|低|低い|轻微|輕微|軽微",
        "approve": "approved|accept|accepted|通过|通過|批准|同意|承認|承認する",
        "revise": "revision|revisions|needs revision|needs revisions|revision needed|request changes"
        "|修改|需修改|需要修改|修订|要修正|修正|修正が必要|要改稿",
        "research": "more research|needs research|needs more research|more research needed"
        "|研究|需要研究|需要更多研究|补充研究|需补充研究|調査|追加調査|要追加調査|追加調査が必要",
    }.items()
    for word in words.split("|")
}
_NULL_WORDS = frozenset(
    {"", "null", "none", "nil", "n/a", "undefined", "-", "–", "—"}
    | {"无", "無", "没有", "不适用", "無し", "なし", "該当なし", "特になし"}
)
_PLACEHOLDER = re.compile(r"string|str|\.{3}|<[^<>\n]{1,60}>", re.IGNORECASE)
_TEMPLATE_WORDS = frozenset({"text", "yourtext", "placeholder", "文本", "字符串", "文字列", "テキスト"})
_YES = frozenset(["true", "yes", "y", "1", "是", "真", "はい"])
_NO = frozenset(["false", "no", "n", "0", "否", "假", "不是", "いいえ"])


@lru_cache(2_000)
def folded(name: str) -> str:
    """Its letters and digits alone, small: `Source-IDs` and `sourceIds` are the same name."""
    plain = unicodedata.normalize("NFKC", name[:100]).casefold()
    return "".join(char for char in plain if char.isalnum())


@lru_cache(10_000)
def names_field(name: str, field: str) -> bool:
    """Whether a name that is none of the schema's may stand for a field."""
    said, wanted = folded(name), folded(field)
    return said.removesuffix("s") == wanted.removesuffix("s") or bool(
        {said, said.removesuffix("s")} & ALIASES.get(field, frozenset())
    )


def choice_meant(text: str, choices: tuple[str, ...]) -> tuple[str, RepairName] | None:
    """The one of the choices that a text names, whatever its case, marks and language."""
    said = re.sub(r"^[\W_]+|[\W_]+$", "", _plain(text))
    said = re.sub(r"[\s_-]+", " ", said)
    for choice in choices:
        if said == choice.casefold():
            return choice, "choice_spelling"
    meant = _CHOICE_WORDS.get(said)
    return (meant, "choice_translated") if meant in choices and meant is not None else None


def means_nothing(text: str) -> bool:
    """Whether a text says that there is none."""
    return _plain(text).strip("\"'.。 ") in _NULL_WORDS


def is_placeholder(text: str) -> bool:
    """Whether a text is what stands for one in a template: `string`, `…`, `<title>`."""
    return _PLACEHOLDER.fullmatch(_plain(text)) is not None


def fills_in(text: str, field: str, description: str | None) -> bool:
    """Whether a text is what a template has for a field: such a word, or what the schema says of the field.

    For answers that decide: a text such as `文字列` may be meant elsewhere.
    """
    said = folded(text)
    if is_placeholder(text) or said in _TEMPLATE_WORDS | {folded(field), f"your{folded(field)}"}:
        return True
    return said in ALIASES.get(field, ()) or (description is not None and text.strip() == description)


def may_be_dropped(name: str, value: Any) -> bool:
    """Whether a field that nobody asked for can go in silence: no text of any length is lost with it."""
    if folded(name) in REMARKS or value is None or isinstance(value, int | float):
        return True
    if isinstance(value, str):
        return not _SENTENCE.search(value) and len(value) + len(_WIDE.findall(value)) <= _LONGEST_LABEL
    return not value


def is_of_wrapping(name: str, value: Any) -> bool:
    """The same of a field beside the one that holds the answer."""
    return folded(name) in _OF_A_SCHEMA or may_be_dropped(name, value)


def truth_of(text: str) -> bool | None:
    """What a word for yes or no says; None if it is neither."""
    said = _plain(text).strip("\"'.。 ")
    return True if said in _YES else False if said in _NO else None


def _plain(text: str) -> str:
    # Words of these tables are short; a long text is none of them, and need not be looked at whole.
    return unicodedata.normalize("NFKC", text).casefold().strip() if len(text) <= 60 else text
