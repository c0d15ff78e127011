"""Files that are made to do harm, or only odd: each is read or refused, soon, and can be kept."""

import re
import sys
from pathlib import Path
from subprocess import run

import pytest

from knowledge.charsets import decoded
from knowledge.files import LoadError
from knowledge.loaders import load

ROOT = Path(__file__).parents[2]
JAPANESE = "　一つのソルト。\n　次の段落です。\n"
CHINESE = "　　一个密码，一个盐。\n　　第二段。\n"

READ_COMMENTS = """
from knowledge.fetch import Fetched
from knowledge.loaders import load_page
page = Fetched("https://h.example/p", b"<!-- x -->" * 60 + b" no page", "text/plain", None)
print(load_page(page).kind)
"""


def test_a_text_of_comments_is_read_in_time() -> None:
    """In a process, since nothing else can stop a pattern that tries everything."""
    done = run(
        [sys.executable, "-c", READ_COMMENTS],
        cwd=ROOT,
        timeout=10,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "text"


@pytest.mark.parametrize("text", [JAPANESE, CHINESE, "One salt.\nNext line.\n"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_read_whatever_its_characters(encoding: str, text: str) -> None:
    assert decoded(text.encode(encoding)) == text


def test_what_is_no_utf_16_is_still_binary() -> None:
    for content in (bytes(range(256)) * 8, b"\x00\x01" * 300, b"\x7fELF\x02\x01\x01\x00" + b"\x00" * 500):
        with pytest.raises(LoadError, match="binary"):
            decoded(content)


def test_the_charset_of_old_japanese_mail_is_told_by_its_looks() -> None:
    text = "パスワードを保存する。移行手順。"
    assert decoded(text.encode("iso2022_jp")) == text
    assert decoded(b"\x1b[1mbold\x1b[0m") == "\x1b[1mbold\x1b[0m"


@pytest.mark.parametrize(
    "label", ["unicode_escape", "raw-unicode-escape", "punycode", "idna", "hex", "zlib", "undefined"]
)
def test_a_codec_that_is_no_charset_is_passed_over(label: str) -> None:
    text = "C:\\new\\ud800 密码 パスワード"
    assert decoded(text.encode(), stated=(label,)) == text


@pytest.mark.parametrize("title", [r"a\0b", r"密\0码", r"\uD800ソルト"])
def test_a_title_in_front_matter_can_be_kept(title: str) -> None:
    loaded = load("a.md", f'---\ntitle: "{title}"\nurl: "https://h.example/{title}"\n---\ntext\n'.encode())
    assert re.search("[\x00\ud800-\udfff]", loaded.title + (loaded.url or "")) is None


def test_front_matter_that_stands_for_gigabytes_is_no_title() -> None:
    levels = "".join(
        f"{a}: &{a} [{', '.join([f'*{b}'] * 10)}]\n" for b, a in zip("abcdef", "bcdefg", strict=True)
    )
    about = f"a: &a [x, x, x, x, x, x, x, x, x, x]\n{levels}"
    for key in ("title", "date", "lang", "url"):
        loaded = load("notes.md", f"---\n{about}{key}: *e\n---\n密码要加盐。\n".encode())
        assert (loaded.title, loaded.text) == ("notes", "密码要加盐。\n")


def test_front_matter_makes_nothing_but_words_and_numbers() -> None:
    loaded = load("notes.md", "---\ntitle: !!python/object/apply:os.getcwd []\n---\n密码要加盐。\n".encode())
    assert loaded.title == "notes"


def test_a_few_letters_of_a_small_charset_are_no_damage() -> None:
    text = f"{'Passwords must not be kept as they are. ' * 20}The café’s résumé."
    assert decoded(text.encode("cp1252")) == text


@pytest.mark.parametrize(
    ("text", "encoding", "stated"),
    [
        ("密码应当用慢的散列函数保存。", "utf-8", None),
        ("パスワードを保存する手順。", "utf-8", None),
        ("The résumé of a naïve café – “quoted”. ", "utf-8", None),
        ("密码应当用慢的散列函数保存。", "gb18030", "gb2312"),
        ("パスワードを保存する手順。", "cp932", "shift_jis"),
    ],
)
def test_a_byte_that_is_wrong_costs_a_character_and_not_the_page(
    text: str, encoding: str, stated: str | None
) -> None:
    content = (text * 40).encode(encoding)
    for broken in (content[:-1], content + b"\xff" + content):
        read = decoded(broken, stated=(stated,))
        assert read.count(text) >= 39
        assert read.count("\ufffd") <= 2


def test_japanese_of_companies_is_read_in_euc() -> None:
    content = b"\xad\xa1" + "パスワードを保存する。".encode("euc_jp") + b"\xad\xea"
    assert decoded(content, stated=("EUC-JP",)) == "①パスワードを保存する。㈱"
