"""What people wish is read from their words in three languages; what is not understood stays words."""

import pytest

from agents.offline.places import place_of, subject_of
from agents.offline.wishes import Drop, More, Move, Rename, Shorten, Swap, Wish, Words, wishes


@pytest.mark.parametrize(
    ("text", "wished"),
    [
        ("drop section 3", [Drop("section 3")]),
        ("Please remove the part about bcrypt.", [Drop("the part about bcrypt")]),
        ("Could you delete 2, please", [Drop("2")]),
        ("put the migration first", [Move("the migration", "first")]),
        ("the migration should come first", [Move("the migration", "first")]),
        ("start with the risks", [Move("the risks", "first")]),
        ("move 2 before 4", [Move("2", "before", "4")]),
        ("put costs after the section on Go", [Move("costs", "after", "the section on Go")]),
        ("move section 1 to the end", [Move("section 1", "last")]),
        ("end with costs", [Move("costs", "last")]),
        ("swap 2 and 3", [Swap("2", "3")]),
        ("shorten section 2", [Shorten("section 2")]),
        ("shorter", [Shorten("")]),
        ("shorter introduction", [Shorten("introduction")]),
        ("make section 4 a bit shorter", [Shorten("section 4")]),
        ("less on history", [Shorten("history")]),
        ("more on GPU cracking", [More("GPU cracking")]),
        ("add a section about peppers", [More("peppers")]),
        ("expand on parameters", [More("parameters")]),
        ("mention PBKDF2 too", [More("PBKDF2")]),
        ("rename section 2 to “Choosing well”", [Rename("section 2", "Choosing well")]),
        ("drop section 4; more on GPU", [Drop("section 4"), More("GPU")]),
        ("drop 2 and move 3 first", [Drop("2"), Move("3", "first")]),
        ("drop salts and peppers", [Drop("salts and peppers")]),
        ("make it friendlier", [Words("make it friendlier")]),
        ("The tone is wrong", [Words("The tone is wrong")]),
        ("删除第3节", [Drop("第3节")]),
        ("请把第二节去掉。", [Drop("第二节")]),
        ("不要讲历史的部分", [Drop("讲历史的部分")]),
        ("把迁移放在前面", [Move("迁移", "first")]),
        ("把第三节移到最后", [Move("第三节", "last")]),
        ("先讲迁移", [Move("迁移", "first")]),
        ("最后讲成本", [Move("成本", "last")]),
        ("把成本放在参数之前", [Move("成本", "before", "参数")]),
        ("精简第2节", [Shorten("第2节")]),
        ("写短一点", [Shorten("")]),
        ("第2节写得短一些", [Shorten("第2节")]),
        ("多讲一些显卡破解", [More("显卡破解")]),
        ("补充显卡破解的内容", [More("显卡破解")]),
        ("把第2节改名为“参数选择”", [Rename("第2节", "参数选择")]),
        ("删除第3节，补充显卡破解", [Drop("第3节"), More("显卡破解")]),
        ("语气亲切一些", [Words("语气亲切一些")]),
        ("第2節を削除してください", [Drop("第2節")]),
        ("歴史の節は不要です", [Drop("歴史の節")]),
        ("移行を先に", [Move("移行", "first")]),
        ("第3節を最後に移動してください", [Move("第3節", "last")]),
        ("費用をパラメータの前に", [Move("費用", "before", "パラメータ")]),
        ("移行から始めてください", [Move("移行", "first")]),
        ("第1節を短くしてください", [Shorten("第1節")]),
        ("もっと短く", [Shorten("")]),
        ("セマフォについて詳しく", [More("セマフォ")]),
        ("もっと GPU について書いてください", [More("GPU")]),
        ("第2節を「移行の手順」に改題", [Rename("第2節", "移行の手順")]),
        ("親しみやすい文体で", [Words("親しみやすい文体で")]),
        ("", []),
        ("  ;;。", []),
        ("👍", [Words("👍")]),
    ],
)
def test_a_request_is_read_as_what_was_wished(text: str, wished: list[Wish]) -> None:
    assert wishes(text) == wished


ENGLISH = ["Why MD5 fails", "Choosing Argon2id parameters", "Migrating without a flag day", "What it costs"]
CHINESE = ["MD5 为什么不安全", "Argon2id 的参数", "不停机迁移", "成本"]
JAPANESE = ["MD5 の弱点", "パラメータの選択", "移行の手順", "費用"]


@pytest.mark.parametrize(
    ("headings", "what", "place"),
    [
        (ENGLISH, "section 3", 2),
        (ENGLISH, "3", 2),
        (ENGLISH, "the third", 2),
        (ENGLISH, "the last section", 3),
        (ENGLISH, "the introduction", 0),
        (ENGLISH, "the migration", 2),
        (ENGLISH, "the section on parameters", 1),
        (ENGLISH, "“Why MD5 fails”", 0),
        (ENGLISH, "迁移", 2),
        (ENGLISH, "section 5", None),
        (ENGLISH, "0", None),
        (ENGLISH, "sourdough", None),
        (ENGLISH, "it", None),
        (CHINESE, "第3节", 2),
        (CHINESE, "第三节", 2),
        (CHINESE, "迁移那节", 2),
        (CHINESE, "最后一节", 3),
        (CHINESE, "参数的部分", 1),
        (CHINESE, "migration", 2),
        (CHINESE, "第十二节", None),
        (CHINESE, "面包", None),
        (JAPANESE, "第2節", 1),
        (JAPANESE, "移行", 2),
        (JAPANESE, "移行の節", 2),
        (JAPANESE, "最後の節", 3),
        (JAPANESE, "パン", None),
        ([], "1", None),
    ],
)
def test_a_section_is_found_by_number_or_words(headings: list[str], what: str, place: int | None) -> None:
    nothing = ["" for _ in headings]
    assert place_of(what, headings, nothing, nothing) == place


def test_descriptions_and_texts_are_looked_into_after_headings() -> None:
    assert place_of("salts", ["A", "B"], ["", "Salts and rainbow tables"], ["", ""]) == 1
    assert (
        place_of("semaphore", ["A", "B"], ["", ""], ["Nothing.", "A semaphore waits. A semaphore helps."])
        == 1
    )


@pytest.mark.parametrize(
    ("what", "subject"),
    [
        ("the section about bcrypt", "bcrypt"),
        ("“GPU cracking”", "GPU cracking"),
        ("参数的部分", "参数"),
        ("移行の節", "移行"),
        ("section", "section"),
    ],
)
def test_what_something_is_about_is_left_of_the_words(what: str, subject: str) -> None:
    assert subject_of(what) == subject
