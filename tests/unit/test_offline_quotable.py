"""Only whole sentences that stand on their own are quoted: no table, no code, no heading, no fragment."""

import pytest

from agents.offline.quotable import code_blocks, quotable

ENGLISH = """---
## Parameters

OWASP asks for at least 19 MiB of memory, two iterations
and one degree of parallelism. This is a floor. See the table below for more of them, please.

| Memory | Iterations |
|---|---|
| 19 MiB | 2 is the number of iterations that it takes. |

The parameters have to be:

- chosen on the production machine, with its load.
- Raised once a year, because hardware becomes cheaper.

Other rules of the team are in this list.

- A pepper is kept outside of the database.
- too short.
1. **Never**: log a password in any environment.

```go
// This comment is a whole sentence, and it is code.
x := 1
```

Is a salt secret, and should it be kept apart? A salt is stored beside the hash, and it is not secret.
[Old](old.md) documents of the team advise something else. The RFC [S3] cites itself and is no source of this.
<div>HTML is no prose of the article at all.</div>
"""
CHINESE = """## 参数

OWASP 建议至少使用 19 MiB 内存、
2 次迭代。这只是下限。参数详见下表。盐可以公开吗？盐与散列值保存在一起，不需要保密。

| 内存 | 次数 |
|---|---|
| 19 MiB | 这里写的是迭代次数。 |

- 胡椒应当保存在数据库之外。
"""
JAPANESE = """## パラメータ

OWASP はメモリを少なくとも 19 MiB とするよう
推奨している。これは下限である。詳細は次の表を参照。ソルトは秘密か？ソルトはハッシュと一緒に保存する値であり、秘密ではない。

1. ペッパーはデータベースの外に保存する。
"""


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            ENGLISH,
            [
                "OWASP asks for at least 19 MiB of memory, two iterations and one degree of parallelism.",
                "Other rules of the team are in this list.",
                "A pepper is kept outside of the database.",
                "A salt is stored beside the hash, and it is not secret.",
            ],
        ),
        (
            CHINESE,
            [
                "OWASP 建议至少使用 19 MiB 内存、2 次迭代。",
                "盐与散列值保存在一起，不需要保密。",
                "胡椒应当保存在数据库之外。",
            ],
        ),
        (
            JAPANESE,
            [
                "OWASP はメモリを少なくとも 19 MiB とするよう推奨している。",
                "ソルトはハッシュと一緒に保存する値であり、秘密ではない。",
                "ペッパーはデータベースの外に保存する。",
            ],
        ),
    ],
    ids=["en", "zh", "ja"],
)
def test_whole_sentences_are_quotable_and_nothing_else(text: str, sentences: list[str]) -> None:
    assert [sentence.text for sentence in quotable(text) if not sentence.leans] == sentences


@pytest.mark.parametrize(
    ("text", "leans"),
    [
        ("MD5 has no salt of its own, ever. It has no work factor either, of course.", [False, True]),
        ("MD5 没有盐，一直如此。因此相同的密码得到相同的摘要。", [False, True]),
        ("MD5 にはソルトがなく、昔からそうである。そのため同じパスワードは同じ値になる。", [False, True]),
        ("Italy stores the hashes of its own users. Thistles grow beside the data center.", [False, False]),
    ],
)
def test_a_sentence_that_leans_on_the_one_before_says_so(text: str, leans: list[bool]) -> None:
    found = quotable(text)
    assert [sentence.leans for sentence in found] == leans
    assert found[1].place == found[0].place + 1


def test_the_first_sentence_of_a_paragraph_has_none_before_it() -> None:
    first, second = quotable(
        "A salt makes each digest different.\n\nA pepper is shared by all of the passwords."
    )
    assert second.place > first.place + 1


def test_code_is_given_whole_and_never_if_it_has_no_end() -> None:
    assert code_blocks("One.\n\n```go\nx := `y`\n\nz\n```\n\n~~~\n```\n~~~\n\n```\nno end") == [
        "```go\nx := `y`\n\nz\n```",
        "~~~\n```\n~~~",
    ]
