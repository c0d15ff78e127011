"""What replies mean: a hostile table in three languages, and properties."""

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.replies import WORDS, NearMiss, Talk, Word, read_reply
from knowledge.article import Action

BOT = "U0BOT"


def read(text: str) -> Word | NearMiss | Talk:
    return read_reply(text, bot_user_id=BOT)


@pytest.mark.parametrize(
    "text",
    [
        "approve",
        "Approve",
        "APPROVE",
        "approve.",
        "approve!",
        "approve!!",
        "approve,",
        "approve:",
        "  approve \n",
        "\n\napprove",
        "approve\u00a0",  # a no-break space
        "\u200b\ufeffapprove\u200d",  # zero width
        "app\u00adrove",  # a soft hyphen
        "\u202aapprove\u202c",  # direction marks, as copied from elsewhere
        "*approve*",
        "_approve_",
        "`approve`",
        "```approve```",
        "```\napprove\n```",
        "*_approve_*",
        "*approve*!",
        "“approve”",
        "‘approve’",
        '"approve"',
        "'approve'.",
        "「承認」",
        "ａｐｐｒｏｖｅ",
        "ＡＰＰＲＯＶＥ！",
        f"<@{BOT}> approve",
        f"<@{BOT}>approve",
        f"<@{BOT}|copydesk> approve",
        f"<@{BOT}>: approve",
        f"<@{BOT}>, *approve*",
        f"<@{BOT}>，通过",
        f"*<@{BOT}>* approve",
        f"<@{BOT}> <@{BOT}> approve",
        f"approve <@{BOT}>",
        f"approve, <@{BOT}>\u00a0",
        "approve 👍",
        "approve 👍🏽",
        "approve :+1:",
        "approve :+1::skin-tone-3:",
        "approve! 🎉",
        "&gt; shall we go on?\napprove",
        "通过",
        "通过。",
        "通过！",
        "通過",
        "批准",
        "同意",
        "同意～",
        "*同意*",
        "“通过”",
        f"<@{BOT}> 批准！",
        "承認",
        "承認。",
        "承認！",
        "`承認`",
        f"<@{BOT}>　承認",
    ],
)
def test_it_approves(text: str) -> None:
    assert read(text) == Word(Action.APPROVE, "", None)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("cancel", Action.CANCEL),
        ("Cancel.", Action.CANCEL),
        ("取消", Action.CANCEL),
        ("取消！", Action.CANCEL),
        ("キャンセル", Action.CANCEL),
        ("ｷｬﾝｾﾙ", Action.CANCEL),
        ("retry", Action.RETRY),
        ("*Retry*", Action.RETRY),
        ("重试", Action.RETRY),
        ("重試", Action.RETRY),
        ("再試行", Action.RETRY),
        ("status", Action.STATUS),
        ("status?", Action.STATUS),
        ("状态？", Action.STATUS),
        ("狀態", Action.STATUS),
        ("状態", Action.STATUS),
        ("revise", Action.REVISE),
        ("revise:", Action.REVISE),
        ("revise: \u200b", Action.REVISE),
        ("修改", Action.REVISE),
        ("修改：", Action.REVISE),
        ("修正。", Action.REVISE),
        ("research", Action.RESEARCH),
        ("research:\n", Action.RESEARCH),
        ("补充", Action.RESEARCH),
        ("補充", Action.RESEARCH),
        ("調査", Action.RESEARCH),
    ],
)
def test_it_is_a_bare_word(text: str, action: Action) -> None:
    assert read(text) == Word(action, "", None)


@pytest.mark.parametrize(
    ("text", "said", "section"),
    [
        ("revise: put the migration first", "put the migration first", None),
        ("Revise : put it first", "put it first", None),
        ("REVISE：put it first", "put it first", None),
        ("ｒｅｖｉｓｅ：shorter", "shorter", None),
        ("revise:shorter", "shorter", None),
        ("*revise:* shorter", "shorter", None),
        ("*revise*: shorter", "shorter", None),
        ("*revise: shorter*", "shorter", None),
        ("_revise_: keep snake_case_", "keep snake_case_", None),
        ("*revise:* keep *this* bold", "keep *this* bold", None),
        ("`revise: shorter`", "shorter", None),
        ("```revise: a\nb```", "a\nb", None),
        ("revise: first\n- drop 3\n  - and 4\n\nthanks", "first\n- drop 3\n  - and 4\n\nthanks", None),
        ("revise: see 10:30 and a: b", "see 10:30 and a: b", None),
        ("revise: Tom &amp; Jerry, a &lt; b &gt; c", "Tom & Jerry, a < b > c", None),
        ("revise: write &amp;lt; as it is", "write &lt; as it is", None),
        ("revise: use n &gt; 3\n&gt; quoted", "use n > 3\n> quoted", None),
        ("revise: “friendlier” – please…", "“friendlier” – please…", None),
        ("revise: should we say why?", "should we say why?", None),
        ("revise: 👨‍👩‍👧 families ❤️", "👨‍👩‍👧 families ❤️", None),
        ("revise: ＭＤ５ stays as typed", "ＭＤ５ stays as typed", None),
        ("revise: cite <https://a.b/c?x=1&amp;y=2|OWASP>", "cite OWASP (https://a.b/c?x=1&y=2)", None),
        ("revise: cite <https://a.b/c>", "cite https://a.b/c", None),
        ("revise: cite <http://a.b|a.b>", "cite a.b", None),
        ("revise: ask <mailto:ana@a.b|ana@a.b>", "ask ana@a.b", None),
        ("revise: ask <@U1|ana>, <@U2> in <#C1|go>, <#C2|>", "ask @ana, @U2 in #go, #C2", None),
        ("revise: tell <!here> and <!subteam^S1|@editors>", "tell @here and @editors", None),
        (f"revise: say what <@{BOT}> does", f"say what @{BOT} does", None),
        ("revise: nul\x00 and bell\x07 go\ttabs stay", "nul and bell go\ttabs stay", None),
        ("revise 2: only this", "only this", 2),
        ("revise  2 : only this", "only this", 2),
        ("revise2: only this", "only this", 2),
        ("Revise section 2: only this", "only this", 2),
        ("revise sec. 12: only this", "only this", 12),
        ("revise §3: only this", "only this", 3),
        ("revise #3: only this", "only this", 3),
        ("*revise 2:* only this", "only this", 2),
        ("revise ２： only this", "only this", 2),
        ("revise 0: only this", "only this", 0),
        ("revise 9999: only this", "only this", 9999),
        (f"<@{BOT}> revise 2: only this", "only this", 2),
        ("修改：把迁移放在前面", "把迁移放在前面", None),
        ("修改: 引言短一点。", "引言短一点。", None),
        ("修改 3：短一点", "短一点", 3),
        ("修改3：短一点", "短一点", 3),
        ("修改 ３ ：短一点", "短一点", 3),
        ("修改第3节：短一点", "短一点", 3),
        ("修改第三节：短一点", "短一点", 3),
        ("修改 第 十二 節：短一點", "短一點", 12),
        ("修改第二十一章：短一点", "短一点", 21),
        ("修改第十部分：短一点", "短一点", 10),
        ("*修改：* 第3节删掉", "第3节删掉", None),
        (f"<@{BOT}> 修改：短一点", "短一点", None),
        ("修正：移行を先に", "移行を先に", None),
        ("修正 3：もっと短く", "もっと短く", 3),
        ("修正３：もっと短く", "もっと短く", 3),
        ("修正 第2節：もっと短く", "もっと短く", 2),
        ("修正：「もっと親しみやすく」", "「もっと親しみやすく」", None),
        ("修正：１行目\n２行目", "１行目\n２行目", None),
        ("修正：ﾊﾟｽﾜｰﾄﾞ のまま", "ﾊﾟｽﾜｰﾄﾞ のまま", None),
        ("revise 2", "", 2),
        ("修改第三节", "", 3),
        ("修正 第2節。", "", 2),
    ],
)
def test_it_asks_for_a_change(text: str, said: str, section: int | None) -> None:
    assert read(text) == Word(Action.REVISE, said, section)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("research: what does it cost at login?", "what does it cost at login?"),
        ("*Research:* <https://a.b>", "https://a.b"),
        ("补充：登录延迟", "登录延迟"),
        ("補充：登入延遲", "登入延遲"),
        ("調査：ログイン遅延", "ログイン遅延"),
        (f"<@{BOT}> 調査： ＧＰＵ の速度", "ＧＰＵ の速度"),
    ],
)
def test_it_asks_for_research(text: str, said: str) -> None:
    assert read(text) == Word(Action.RESEARCH, said, None)


def test_what_was_said_is_short_enough_to_be_quoted() -> None:
    for text in (
        "revise the intro\nand " + "more " * 9_000,
        "修改一下引言" + "好" * 9_000,
        "修正して" + "ね" * 9_000,
    ):
        reading = read(text)
        assert isinstance(reading, NearMiss)
        assert len(reading.said) <= 80
        assert "\n" not in reading.said
        assert reading.said.endswith("…")


@pytest.mark.parametrize(
    "piece",
    [
        " ",
        "\u200b",
        "\n",
        "*",
        "`",
        "~",
        ":",
        " :",
        "<@U0BOT>",
        "<@U0BOT",
        "&gt; \n",
        "👍",
        "revise ",
        "<",
        ".",
    ],
)
@pytest.mark.parametrize("frame", ["{}x", "revise{}x", "revise 2{}: x", "approve{}?", "revise: x{}"])
def test_the_longest_message_of_slack_is_read_in_no_time(piece: str, frame: str) -> None:
    text = frame.format(piece * (40_000 // len(piece)))
    started = time.process_time()
    read(text)
    # Linear reading takes some 50 ms; a pattern that looks again from each character takes minutes.
    assert time.process_time() - started < 2


BLANKS = st.text(st.sampled_from(" \n\t\u00a0\u200b\ufeff\u3000"), max_size=4)
MARKS = st.lists(st.sampled_from(["*", "_", "`"]), max_size=3, unique=True).map("".join)
MENTIONS = st.sampled_from(["", f"<@{BOT}> ", f"<@{BOT}|copydesk>: "])
ENDS = st.sampled_from(["", ".", "!", "。", "！", ",", " 👍", "!!"])
COLONS = st.sampled_from([":", "：", " :", " ： ", ": "])


def wide(word: str) -> str:
    """The same word in the full-width letters of a Chinese or Japanese keyboard."""
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in word)


SPELLINGS = st.sampled_from([str, str.upper, str.title, wide])


@given(st.sampled_from(sorted(WORDS)), SPELLINGS, MARKS, MENTIONS, BLANKS, BLANKS, ENDS)
def test_no_decoration_changes_a_bare_word(
    word: str, spelling: type[str], marks: str, mention: str, before: str, after: str, end: str
) -> None:
    text = f"{before}{mention}{marks}{spelling(word)}{marks[::-1]}{end}{after}"
    assert read(text) == Word(WORDS[word], "", None)


@given(
    st.sampled_from([word for word, action in WORDS.items() if action is Action.REVISE]),
    st.one_of(st.none(), st.integers(0, 9999)),
    SPELLINGS,
    MARKS,
    MENTIONS,
    BLANKS,
    COLONS,
    st.sampled_from(["shorter, a & b <c>", "把迁移放在前面\n然后删掉第3节", "移行を先に\n「注意」も"]),
)
def test_no_decoration_changes_a_request(
    word: str,
    section: int | None,
    spelling: type[str],
    marks: str,
    mention: str,
    before: str,
    colon: str,
    said: str,
) -> None:
    number = "" if section is None else f" {section}"
    escaped = said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = f"{before}{mention}{marks}{spelling(word)}{number}{marks[::-1]}{colon}{escaped}"
    assert read(text) == Word(Action.REVISE, said, section)


APPROVALS = {word for word, action in WORDS.items() if action is Action.APPROVE}
PROSE = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            [
                *WORDS,
                "not",
                "I",
                "don't",
                "不",
                "我",
                "しない",
                ":",
                "?",
                "。",
                "\n",
                "2",
                "<@U1>",
                "~",
                "&gt;",
            ]
        ),
        max_size=6,
    ).map(" ".join),
)


@given(PROSE)
@example("approve" + "\n" * 50 + "not")
@example("承認\u3000しない")
def test_nothing_approves_but_an_approving_word_alone(text: str) -> None:
    reading = read(text)
    if isinstance(reading, Word) and reading.action is Action.APPROVE:
        # Told again in another way: nothing but the letters of one such word is in the message,
        # quoted lines apart.
        own = [line for line in text.split("\n") if not line.lstrip().startswith("&gt;")]
        letters = unicodedata.normalize("NFKC", "".join(own)).casefold()
        assert "".join(letter for letter in letters if letter.isalpha()) in APPROVALS
        assert "?" not in letters


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    reading = read(text)
    if isinstance(reading, Word):
        reading.text.encode()  # PostgreSQL takes no lone surrogates, and no NUL
        assert "\x00" not in reading.text
