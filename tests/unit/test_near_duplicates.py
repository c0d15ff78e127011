"""Which passages say the same in nearly the same words."""

import pytest

from knowledge.near_duplicates import prints

TEXTS = {
    "en": "A salt is a random value, unique for each password. It defeats tables of hashes that were made "
    "beforehand, since each guess has to be hashed anew for each account in the list.",
    "zh": "盐是随机值，每个密码都不同。有了盐，事先算好的散列表就没有用处，因为攻击者必须对每个账户重新计算"
    "每一次猜测，这样做的成本很高。盐和散列值存放在一起，不需要保密。",
    "ja": "ソルトはパスワードごとに異なる乱数である。事前に計算したハッシュの表は役に立たなくなり、攻撃者は"
    "アカウントごとに推測をやり直さなければならない。ソルトはハッシュとともに保存され、秘密にする必要はない。",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_copy_with_other_things_around_it_says_nothing_new(text: str) -> None:
    copy = f"ACME Handbook\n\n{text.replace(' ', '  ')}\n\nShare this"
    assert prints(copy).says_nothing_new(prints(text))
    assert prints(text).says_nothing_new(prints(copy))
    assert prints(text.upper()).says_nothing_new(prints(text))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_that_goes_on_says_something_new(text: str) -> None:
    longer = f"{text} {TEXTS['en'][::-1]}"
    assert prints(text).says_nothing_new(prints(longer))
    assert not prints(longer).says_nothing_new(prints(text))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_another_number_is_another_statement(text: str) -> None:
    before, after = prints(f"{text} 19 MiB"), prints(f"{text} 46 MiB")
    assert not before.says_nothing_new(after)
    assert not after.says_nothing_new(before)
    assert prints(f"{text} ４６ MiB").says_nothing_new(after)


def test_texts_on_one_matter_are_not_the_same() -> None:
    for one in TEXTS.values():
        for other in TEXTS.values():
            assert prints(one).says_nothing_new(prints(other)) == (one == other)
    assert not prints("A salt is a random value. It is stored beside the hash.").says_nothing_new(
        prints(TEXTS["en"])
    )


@pytest.mark.parametrize("text", ["", "!", "a", "短い", "12"])
def test_short_texts_are_like_themselves_alone(text: str) -> None:
    assert prints(text).says_nothing_new(prints(text))
    assert not prints(TEXTS["en"]).says_nothing_new(prints(text))
