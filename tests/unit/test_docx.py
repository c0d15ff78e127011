"""Word files to text, and those that are made to do harm."""

import io
import struct
import zipfile
from datetime import date

import pytest

from knowledge.files import LoadError
from knowledge.loaders import load
from tests.word_file import packed, paragraph, table, word_file


def test_a_word_file_gives_headings_paragraphs_and_tables() -> None:
    loaded = load(
        "手册.docx",
        word_file(
            paragraph("Passwords", style="Heading1"),
            paragraph("A salt is unique for each password."),
            paragraph("盐的长度", style="Heading2"),
            paragraph("盐的长度为十六字节。"),
            table(("名前", "値"), ("反復", "2")),
            paragraph("ソルトはパスワードごとに異なる。"),
            title="Password guide",
            changed="2024-05-03",
        ),
    )
    assert (loaded.kind, loaded.title, loaded.published) == ("docx", "Password guide", date(2024, 5, 3))
    assert loaded.text == (
        "# Passwords\n\nA salt is unique for each password.\n\n## 盐的长度\n\n盐的长度为十六字节。\n\n"
        "| 名前 | 値 |\n|---|---|\n| 反復 | 2 |\n\nソルトはパスワードごとに異なる。"
    )
    assert [(block.headings, block.cut) for block in loaded.blocks] == [
        (("Passwords",), "sentences"),
        (("Passwords", "盐的长度"), "sentences"),
        (("Passwords", "盐的长度"), "lines"),
        (("Passwords", "盐的长度"), "sentences"),
    ]


def test_a_word_file_without_properties_is_titled_by_its_first_heading_or_its_name() -> None:
    assert load("a.docx", word_file(paragraph("标题", style="Heading1"), paragraph("正文。"))).title == "标题"
    assert load("手順.docx", word_file(paragraph("本文です。"))).title == "手順"


def lying(content: bytes, name: str, size: int) -> bytes:
    """The zip file with another size for a part in its directory and before the part."""
    for signature, place, of_name in ((b"PK\x01\x02", 24, 46), (b"PK\x03\x04", 22, 30)):
        at = content.find(signature)
        while content[at + of_name : at + of_name + len(name)] != name.encode():
            at = content.index(signature, at + 4)
        content = content[: at + place] + struct.pack("<I", size) + content[at + place + 4 :]
    return content


def renamed(content: bytes) -> bytes:
    """The Word file with a picture's name for its text."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    text = parts.pop("word/document.xml")
    kept = {name: part.replace(b"word/document.xml", b"word/document.png") for name, part in parts.items()}
    return packed({**kept, "word/document.png": text})


BOMB = word_file(paragraph("x" * 300_000_000))
ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("bomb.docx", BOMB, "zip bomb"),
        ("dense.docx", word_file(paragraph("密" * 1_000_000)), "zip bomb"),
        ("renamed.docx", renamed(word_file(paragraph("x" * 21_000_000))), "damaged"),
        ("lying.docx", lying(BOMB, "word/document.xml", 1000), "damaged"),
        ("many.docx", word_file(paragraph("文"), extra={f"{n}.xml": b"" for n in range(10_001)}), "zip bomb"),
        ("entities.docx", word_file(paragraph("&b;"), head=ENTITIES), "entities"),
        ("档案.docx", packed({"a.txt": b"text"}), "no Word file"),
        ("空.docx", word_file(), "empty"),
        ("locked.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "password"),
        ("cut.docx", word_file(paragraph("文章。"))[:-200], "damaged"),
        ("text.docx", "これは Word ではない".encode(), "damaged"),
        ("broken.docx", word_file(paragraph("<open>")), "damaged"),
        ("missing.docx", packed({"[Content_Types].xml": b"<a/>"}), "damaged"),
    ],
)
def test_what_gives_no_text_is_said_with_what_to_do(name: str, content: bytes, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        load(name, content)
