"""From text to the terms that word search counts: stems, identifiers whole and in parts, CJK n-grams."""

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from operator import add

import snowballstemmer

TERM_SPACE = 1 << 29
"""Number of term ids: below pgvector's limit of 1,000,000,000, and so many that hashes do not meet."""

_LONGEST = 64  # characters of a token: no word is longer, and a line of base64 is no word

# Han, kana and Hangul; U+30FB, the middle dot, separates.
_CJK = (
    r"\u3005\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = rf"[^\W_{_CJK}]"
_SHARP = r"\b[A-Za-z](?:\+\+|#)"  # C++, C#, F#
_PIECES = re.compile(
    rf"(?P<cjk>[{_CJK}]+)"
    rf"|(?P<sharp>{_SHARP})"
    rf"|(?P<word>{_LETTER}+(?:[-._/@]+{_LETTER}+)*)"
)
_A_SHARP = re.compile(_SHARP)
# The same for text in ASCII without a sharp, in a third of the time.
_ASCII_WORDS = re.compile(r"[A-Za-z0-9]+(?:[-._/@]+[A-Za-z0-9]+)*")
_SEPARATORS = re.compile(r"[-._/@]+")
_SEPARATORS_WITHIN_A_WORD = re.compile(r"[-_]")
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LETTERS_OR_DIGITS = re.compile(r"[^\W\d_]{2,}|\d{2,}|(?<![^\W_])\d")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_USUAL_PUNCTUATION = {**dict.fromkeys("’ʼ＇", "'"), **dict(zip("，：；！？（）", ",:;!?()", strict=True))}

_STOP_WORDS = """
a about above after again against all also am an and any are as at be because been before being below
between both but by can could did do does doing don down during each else few for from further had has
have having he her here hers him his how i if in into is isn it its itself just ll may me might more most
much must my no nor not now of off on once one only or other our out over own per re s same shall she
should so some such t than that the their them then there these they this those through to too under
until up us ve very was we were what when where which while who whom whose why will with would you your
yours
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
# Function words and question words: too frequent to search for on their own.
_CJK_FUNCTION_WORDS = re.compile(
    "什么|甚么|什麼|怎么样|怎么|怎麼|怎样|如何|为什么|为何|哪里|哪个|哪些|哪儿|谁|多少|几个|请问|可以|这个|那个|我们|你们|他们"
    "|[的了是在吗嗎呢啊吧呀和与與及也都就而或之其这那这些我你他她它们们有不]"
    "|とは|ですか|でしょうか|ますか|です|ます|ください|なぜ|どう|どこ|どれ|どの|だれ|誰|いつ|何|なに|なん"
    "|これ|それ|あれ|この|その|する|した|して|いる|ある|こと|もの|から|まで|より|など|[のはがをにへ]"
)

_stemmer = snowballstemmer.stemmer("english")
_stemmer_lock = threading.Lock()  # a stemmer keeps the word it works on in itself


def tokens(text: str) -> list[str]:
    """The terms of `text` in reading order, with repetitions; the same function reads documents and queries.

    Full-width and half-width forms are the same (NFKC), case and accents do not count. `bcrypt_sha256`,
    `golang.org/x/crypto/argon2` and `1.19` give themselves and their parts; a hyphen or an underscore may be
    left out (`SHA-256` and `sha256`). A run of Han, kana or Hangul gives its characters and their pairs.
    """
    found: list[str] = []
    for piece in _PIECES.finditer(_plain(text)):
        if piece["cjk"]:
            run = piece["cjk"]
            found.extend(run)
            found.extend(a + b for a, b in pairwise(run))
        elif piece["sharp"]:
            found.append(piece["sharp"].lower())
        else:
            found.extend(_word_terms(piece["word"]))
    return found


def term_counts(text: str) -> Counter[int]:
    """How often `tokens` gives each term, by the terms' ids; several times as fast, for a whole base."""
    found: list[str] = []
    plain = _plain(text)
    if plain.isascii() and not (("#" in plain or "++" in plain) and _A_SHARP.search(plain)):
        for word in _ASCII_WORDS.findall(plain):
            found += _word_terms(word)
        return _counted(found)
    for cjk, sharp, word in _PIECES.findall(plain):
        if word:
            found += _word_terms(word)
        elif cjk:
            found += cjk
            found += map(add, cjk, cjk[1:])
        else:
            found.append(sharp.lower())
    return _counted(found)


def _counted(found: Sequence[str]) -> Counter[int]:
    counts = Counter(found)
    ids = Counter(dict(zip(map(term_id, counts), counts.values(), strict=True)))
    return ids if len(ids) == len(counts) else Counter(map(term_id, found))  # two terms may have one id


def says_something(query: str) -> bool:
    """False for a query of punctuation, emoji or function words alone: these find everything or nothing."""
    return bool(content_terms(query))


def content_terms(text: str) -> frozenset[str]:
    """What a short text is about: its terms without function words and question words."""
    plain = _CJK_FUNCTION_WORDS.sub(" ", unicodedata.normalize("NFKC", text))
    return frozenset(tokens(plain))


@lru_cache(maxsize=200_000)
def term_id(token: str) -> int:
    """A number below TERM_SPACE, the same in every process and release: it is stored with each chunk."""
    return int.from_bytes(blake2b(token.encode(), digest_size=4).digest()) % TERM_SPACE


def _plain(text: str) -> str:
    """NFKC with one apostrophe and no commas in numbers."""
    if text.isascii():
        return _THOUSANDS.sub("", text)
    for other, usual in _USUAL_PUNCTUATION.items():
        text = text.replace(other, usual)
    # With its punctuation replaced Chinese and Japanese mostly is normal, and to see that is quicker.
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    return _THOUSANDS.sub("", text)


@lru_cache(maxsize=50_000)
def _word_terms(word: str) -> tuple[str, ...]:
    terms: list[str] = []
    parts = [part for part in _SEPARATORS.split(word) if part]
    if len(parts) > 1:
        joined = _SEPARATORS_WITHIN_A_WORD.sub("", _folded(word)).removeprefix(
            "v" if parts[0][1:].isdigit() else ""
        )
        if len(joined) <= _LONGEST:
            terms.append(_stem(joined))
    for part in parts:
        terms.extend(_part_terms(part[:_LONGEST]))
    return tuple(term for term in terms if term not in STOP_WORDS)


def _part_terms(part: str) -> list[str]:
    """A word without separators: itself, its humps (`IDKey`: id, key), its digits (`46MiB`: 46, mib)."""
    whole = _folded(part)
    if whole in STOP_WORDS:
        return []
    if any(character.isdigit() for character in whole):
        pieces = _LETTERS_OR_DIGITS.findall(whole)
    else:
        pieces = [_folded(hump) for hump in _HUMPS.split(part)]
    return [_stem(whole), *(_stem(piece) for piece in pieces if len(pieces) > 1 or piece != whole)]


def _folded(word: str) -> str:
    """Lower case without accents: `Beyoncé` is found by `beyonce`."""
    if word.isascii():
        return word.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    if not word.isalpha():
        return word
    with _stemmer_lock:
        return str(_stemmer.stemWord(word))
