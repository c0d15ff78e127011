"""Files to text: encodings, front matter, PDF, and what people get wrong."""

import os
from datetime import date
from pathlib import Path

import pytest

from knowledge.files import LoadError, find_files
from knowledge.loaders import MAX_BYTES, load, read_bytes
from tests.pdf_file import LOCKED, pdf

THREE_LANGUAGES = "Store a salted hash.\n密码要加盐之后再存储。\nパスワードはハッシュ化する。\n"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", THREE_LANGUAGES),
        ("utf-8-sig", THREE_LANGUAGES),
        ("utf-16", THREE_LANGUAGES),
        ("utf-32", THREE_LANGUAGES),
        ("gb18030", "密码应该使用 Argon2id 存储，而不是 MD5。团队在用户登录时重新计算哈希。"),
        ("big5", "密碼應使用 Argon2id 儲存，而不是 MD5。團隊在使用者登入時重新計算雜湊。"),
        ("cp932", "パスワードはArgon2idで保存します。移行はログイン時に行います。"),
        ("euc_jp", "パスワードはArgon2idで保存します。移行はログイン時に行います。"),
        ("cp1252", "The résumé of a naïve café owner – déjà vu."),
    ],
)
def test_text_is_read_in_the_encodings_people_have(encoding: str, text: str) -> None:
    loaded = load("notes.txt", text.encode(encoding))
    assert loaded.text == text
    assert loaded.kind == "text"
    assert loaded.title == "notes"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\x1b(IJ_=\\0D^\x1b(B \x1b$B%F%9%H\x1b(B", "ﾊﾟｽﾜｰﾄﾞ テスト"),  # narrow kana
        (b"\x1b$B-!=gHV\x1b(B", "①順番"),  # a row that only a later standard has
    ],
)
def test_mail_in_seven_bits_is_read_with_the_characters_that_people_use(content: bytes, text: str) -> None:
    assert load("mail.txt", content).text == text


def test_line_ends_are_made_one_kind() -> None:
    assert (
        load("a.md", "one\r\ntwo\rthree\n密码\r\nハッシュ".encode()).text == "one\ntwo\nthree\n密码\nハッシュ"
    )


def test_front_matter_describes_the_document_and_is_not_its_text() -> None:
    about = "title: '密码 存储'\nurl: https://example.com/a\ndate: 2024-05-03\nlang: zh-CN"
    content = f"---\n{about}\n---\n# Other\n\n正文。"
    loaded = load("x.md", content.encode())
    assert (loaded.title, loaded.url, loaded.published) == (
        "密码 存储",
        "https://example.com/a",
        date(2024, 5, 3),
    )
    assert loaded.text == "# Other\n\n正文。"
    assert loaded.lang == "zh"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: [broken\n---\n# Heading\n\nText.", "Heading"),
        ("---\njust words\n---\n\n# 見出し\n\n本文。", "見出し"),
        ("---\ndate: 2024-13-45\n---\n# 标题\n\n正文。", "标题"),
        ("---\n\nA rule above, none below.", "runbook"),
        ("---\ntitle:\nurl: not-an-address\n---\nText.", "runbook"),
        ("---\ndraft: !!bool maybe\n---\n# 标题\n\n正文。", "标题"),
        ("---\nweight: !!int ''\n---\n# 見出し\n\n本文。", "見出し"),
        ("---\ndate: !!timestamp soon\n---\n# Heading\n\nText.", "Heading"),
        ('---\ntitle: "\\x01"\n---\n# Heading\n\nText.', "Heading"),
    ],
)
def test_front_matter_that_is_none_does_no_harm(text: str, title: str) -> None:
    loaded = load("runbook.md", text.encode())
    assert (loaded.title, loaded.url, loaded.published) == (title, None, None)


def test_code_is_titled_by_its_file() -> None:
    loaded = load(
        "auth.go", 'package auth\n\n// 盐 ソルト\nfunc Hash(p string) string { return "" }\n'.encode()
    )
    assert (loaded.kind, loaded.title, loaded.lang) == ("code", "auth.go", "en")


def test_a_pdf_gives_paragraphs_without_page_numbers() -> None:
    wide = "This line of the paragraph is long enough to fill the width of the page"
    loaded = load(
        "paper.pdf",
        pdf(
            [wide, "and so the sentence goes on to the next line and from there over the", "1"],
            [
                "Page 2 of 2",
                "page break as if there were none at all, which is how people read them.",
                "短い。",
            ],
            [
                "密码应该加盐之后再计算哈希并且只保存结果而不保存密码本身这样泄露之后攻击者也",
                "不能直接使用。",
                "- 3 -",
            ],
            ["パスワードはソルトを加えてからハッシュ化して保存し、平文では決して保存しないこと"],
        ),
    )
    assert loaded.kind == "pdf"
    assert loaded.title == "paper"
    assert (
        f"{wide} and so the sentence goes on to the next line and from there over the page break as"
        in loaded.text
    )
    assert "攻击者也不能直接使用。" in loaded.text
    assert "パスワードはソルトを加えて" in loaded.text
    assert not any(character.isdigit() for character in loaded.text)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.md", b"", "empty"),
        ("blank.txt", " \n\t\n　".encode(), "empty"),
        ("only.md", b"---\ntitle: x\n---\n", "empty"),
        ("x.bin", bytes(range(256)) * 4, "not text"),
        ("fake.md", b"\x00\x01\x02" * 100, "not text"),
        ("fake.md", bytes(range(128, 256)) * 20, "not text"),
        ("controls.txt", b"\x01\x02abc" * 50, "not text"),
        ("broken.pdf", b"%PDF-1.7 broken", "damaged PDF"),
        ("text.pdf", b"this is no PDF", "damaged PDF"),
        ("scan.pdf", pdf([], []), "no text: pages are images"),
        ("locked.pdf", LOCKED, "password"),
        ("报告.doc", b"PK\x03\x04", "save it as .docx"),
        ("表.xlsx", b"PK\x03\x04", "save it as CSV"),
        ("ページ.html", b"<html>", "empty"),
    ],
)
def test_what_gives_no_text_is_said_with_what_to_do(name: str, content: bytes, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        load(name, content)


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    huge = tmp_path / "huge.txt"
    with huge.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(LoadError, match=r"too large \(20 MB, limit 20 MB\): split it"):
        read_bytes(huge)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(LoadError, match="neither a file nor a folder"):
        read_bytes(pipe)
    with pytest.raises(LoadError, match="no such file"):
        read_bytes(tmp_path / "gone.md")


def test_a_file_without_permission_says_so(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs/a.md"
    file.write_text("text")
    found = find_files([file])
    (tmp_path / "docs").chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)  # root may read everything, so be nobody for a moment
    try:
        with pytest.raises(LoadError, match="no permission to read it"):
            read_bytes(file)
        assert [failed.reason for failed in find_files([file]).failed] == [
            "no permission to read it: change its permissions"
        ]
    finally:
        if is_root:
            os.seteuid(0)
        (tmp_path / "docs").chmod(0o700)
    assert [each.file for each in found.files] == [file.resolve()]


def test_a_folder_stands_for_what_people_wrote_in_it(tmp_path: Path) -> None:
    wanted = ["README", "a.md", "src/main.go", "手順/移行.md", "说明/密码.txt"]
    unwanted = [
        ".git/config",
        ".hidden.md",
        "node_modules/x/readme.md",
        "venv/a.py",
        "logo.png",
        "app.min.js",
    ]
    for name in [*wanted, *unwanted]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    found = find_files([tmp_path])
    assert sorted(file.path for file in found.files) == sorted(str(tmp_path / name) for name in wanted)
    assert (found.failed, found.folders) == ([], [tmp_path.resolve()])


def test_a_named_file_is_taken_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / ".hidden.md").write_text("text")
    assert [file.path for file in find_files([tmp_path / ".hidden.md"]).files] == [
        str(tmp_path / ".hidden.md")
    ]


def test_a_file_is_found_once_by_whatever_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("text")
    (tmp_path / "docs/link.md").symlink_to(tmp_path / "docs/a.md")
    (tmp_path / "docs/loop").symlink_to(tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    found = find_files([Path("docs"), Path("docs/a.md"), tmp_path / "docs"])
    assert [file.path for file in found.files] == ["docs/a.md"]
    assert found.failed == []


def test_paths_that_stand_for_no_file_say_why(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "空").mkdir()
    (tmp_path / "file").write_text("text")
    (tmp_path / "odd").mkdir()
    (tmp_path / os.fsdecode(b"odd/\xff.md")).write_text("text")
    paths = [tmp_path / name for name in ("missing", "circle", "空", "file/below", "odd")]
    reasons = {failed.path: failed.reason for failed in find_files(paths).failed}
    assert reasons == {
        str(tmp_path / "missing"): "no such file or folder: check the spelling",
        str(tmp_path / "circle"): "a symbolic link that leads back to itself: give the real path",
        str(tmp_path / "空"): "no file in this folder that could be read",
        str(tmp_path / "file/below"): "no such file or folder: check the spelling",
        str(tmp_path / "odd/\ufffd.md"): "its name is not UTF-8: rename it",
    }
