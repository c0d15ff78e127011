"""Passages that say the same in nearly the same words: the best of them stays."""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np

# A passage says nothing new if so much of it stands in a better one. What it has of its own is then what is
# around a text: a header, a licence, the name of a site.
_THE_SAME = 0.7
_SHINGLE = 12  # characters of a piece that counts as standing in both; letters and digits alone
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Prints:
    """What a text is recognised by."""

    shingles: frozenset[int]
    numbers: frozenset[str]

    def says_nothing_new(self, better: "Prints") -> bool:
        """Whether the better one has nearly all of this.

        Two that differ in a number each do not say the same, however alike they are: 19 MiB is not 46
        MiB, and both are shown.
        """
        if self.numbers - better.numbers and better.numbers - self.numbers:
            return False
        return len(self.shingles & better.shingles) >= _THE_SAME * len(self.shingles)


def prints(text: str) -> Prints:
    """The prints of a text; case, forms of characters, white space and punctuation do not count."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    letters = "".join(filter(str.isalnum, plain)) or plain
    codes = np.frombuffer(letters.encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    window = min(_SHINGLE, len(codes))
    # A polynomial in each window, modulo 2 ** 64: two different pieces do not meet.
    powers = np.cumprod(np.full(window, 0x9E3779B97F4A7C15, dtype=np.uint64))
    hashes = np.lib.stride_tricks.sliding_window_view(codes, window) @ powers if window else codes
    return Prints(frozenset(hashes.tolist()), frozenset(_NUMBER.findall(plain)))
