"""What is no decision: near misses, courtesies and talk, in three languages."""

import pytest

from bot.replies import TALK, NearMiss, Talk, Word, read_reply
from knowledge.article import Action

BOT = "U0BOT"


def read(text: str) -> Word | NearMiss | Talk:
    return read_reply(text, bot_user_id=BOT)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("approve?", Action.APPROVE),
        ("approve...", Action.APPROVE),
        ("approve…", Action.APPROVE),
        ("approve?!", Action.APPROVE),
        ("approve 🤔", Action.APPROVE),
        ("approve :-1:", Action.APPROVE),
        ("~approve~", Action.APPROVE),
        ("~*approve*~", Action.APPROVE),
        ("👍 approve", Action.APPROVE),
        ("approve it", Action.APPROVE),
        ("approve outline 1", Action.APPROVE),
        ("approve 2", Action.APPROVE),
        ("approve: yes", Action.APPROVE),
        ("approve, but shorten the intro", Action.APPROVE),
        ("approve. Wait, no", Action.APPROVE),
        ("approve\nrevise: no", Action.APPROVE),
        ("approve not", Action.APPROVE),
        ("approve <https://a.b>", Action.APPROVE),
        ("approve / revise", Action.APPROVE),
        ("通过吧", Action.APPROVE),
        ("通过？", Action.APPROVE),
        ("通过这个大纲", Action.APPROVE),
        ("同意见不同的人谈谈", Action.APPROVE),
        ("同意，但是引言要短", Action.APPROVE),
        ("承認します", Action.APPROVE),
        ("承認？", Action.APPROVE),
        ("承認する前に確認したい", Action.APPROVE),
        ("revise the intro", Action.REVISE),
        ("revise?", Action.REVISE),
        ("revise: …", Action.REVISE),
        ("revise: ?", Action.REVISE),
        ("revise - shorter", Action.REVISE),
        ("revise :tada: shorter", Action.REVISE),
        ("revise 2 and 3: shorter", Action.REVISE),
        ("revise 1.5: shorter", Action.REVISE),
        ("revise 20245: shorter", Action.REVISE),
        ("revise the intro: shorter", Action.REVISE),
        ("~revise: shorter~", Action.REVISE),
        ("修改一下引言", Action.REVISE),
        ("修改引言：短一点", Action.REVISE),
        ("修改第一一节：短一点", Action.REVISE),
        ("修正してください", Action.REVISE),
        ("research shows otherwise", Action.RESEARCH),
        ("research 2: latency", Action.RESEARCH),
        ("补充…", Action.RESEARCH),
        ("調査お願いします", Action.RESEARCH),
        ("cancel?", Action.CANCEL),
        ("cancel: too long", Action.CANCEL),
        ("cancel the meeting", Action.CANCEL),
        ("取消吧", Action.CANCEL),
        ("キャンセルしますか", Action.CANCEL),
        ("retry?", Action.RETRY),
        ("重试一下", Action.RETRY),
    ],
)
def test_it_is_a_near_miss(text: str, meant: Action) -> None:
    reading = read(text)
    assert isinstance(reading, NearMiss)
    assert (reading.meant, reading.courtesy) == (meant, False)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "lgtm",
            "LGTM!",
            "ok",
            "OK.",
            "okay",
            "ok 👍",
            "👍",
            "👍👍",
            "👍🏽",
            ":+1:",
            ":thumbsup:",
            "✅",
            "+1",
        ),
        *("yes", "Looks good to me", "approved", "LGTM, ship it 🚀", f"<@{BOT}> lgtm", "*ok*", "“lgtm”"),
        *(
            "好",
            "好的",
            "好的。",
            "好的，了解",
            "可以",
            "没问题！",
            "收到",
            "はい",
            "了解",
            "了解です",
            "問題ありません。",
        ),
    ],
)
def test_a_courtesy_decides_nothing(text: str) -> None:
    reading = read(text)
    assert isinstance(reading, NearMiss)
    assert (reading.meant, reading.courtesy) == (Action.APPROVE, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\u200b",
        "!",
        "?",
        "...",
        f"<@{BOT}>",
        f"<@{BOT}> what do you think",
        "don't approve",
        "do not approve",
        "not approved yet",
        "please approve",
        "I approve of this approach in general, but the cost is open",
        "who can approve?",
        "approver",
        "approval pending",
        "approve's spelling",
        "approved by whom?",
        "disapprove",
        "re-approve",
        "<@U1> approve",
        f"<@U1> <@{BOT}> approve",
        "&gt; approve",
        "&gt; revise: shorter",
        "&gt;&gt;&gt; said before:\napprove",
        "<https://a.b|approve>",
        "- approve",
        "Add a note on bcrypt",
        "revision 2: shorter",
        "revised: shorter",
        "the word is revise: shorter",
        "researchers: unite",
        "cancellation",
        "status quo is fine",
        "status: unclear to me",
        "ok, but what about bcrypt",
        "is this ok",
        "thanks!",
        "😀",
        ":thinking_face:",
        "不通过",
        "未通过",
        "不同意",
        "我同意",
        "请修改：短一点",
        "要不要取消",
        "加一节讲 bcrypt",
        "好的，但是引言要短",
        "まだ承認しないで",
        "未承認",
        "これを修正：短く",
        "bcrypt についても書いて",
        "了解しましたが、少し待って",
    ],
)
def test_talk_is_left_alone(text: str) -> None:
    assert read(text) is TALK
