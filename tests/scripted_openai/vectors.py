"""Embeddings without a model: texts that share words are near, and the same text is the same vector.

Words, their beginnings and pairs of CJK characters are hashed into the dimensions. A text and its
translation are not near: that takes a model.
"""

import base64
import hashlib
import math
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

RUN = re.compile(r"(?P<cjk>[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+)|(?P<word>[^\W_]+)")
HIRAGANA = re.compile(r"[\u3040-\u309f]+")
# Short words, particles and endings say little of what a text is about.
FULL, HALF, LITTLE = 1.0, 0.5, 0.25
BEGINNING = 5


def embed(text: str, dimensions: int) -> list[float]:
    """A vector of length 1, exact in 32 bits."""
    vector = [0.0] * dimensions
    for (feature, weight), count in Counter(features(text)).items():
        place, sign = where(feature, dimensions)
        vector[place] += sign * weight * (1 + math.log(count))
    norm = math.sqrt(sum(value * value for value in vector))
    if norm == 0:  # nothing in it but marks, or features that cancel each other out
        place, sign = where(text, dimensions)
        vector[place], norm = sign, 1.0
    return list(struct.unpack(f"<{dimensions}f", pack([value / norm for value in vector])))


def features(text: str) -> Iterator[tuple[str, float]]:
    """What a text is recognised by, with how much it weighs."""
    for run in RUN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        if run["word"]:
            yield from word_features(run["word"])
        else:
            yield from cjk_features(run["cjk"])


def word_features(word: str) -> Iterator[tuple[str, float]]:
    """The word, and its beginning, so that inflected forms meet."""
    yield word, FULL if len(word) > 3 or word.isdigit() else LITTLE
    if len(word) > BEGINNING:
        yield f"{word[:BEGINNING]}-", HALF


def cjk_features(run: str) -> Iterator[tuple[str, float]]:
    """Each character and each pair of neighbours; pairs of hiragana are grammar for the most part."""
    for character in run:
        yield character, LITTLE
    for pair in pairwise(run):
        yield "".join(pair), LITTLE if HIRAGANA.fullmatch("".join(pair)) else FULL


def where(feature: str, dimensions: int) -> tuple[int, float]:
    """The dimension and the sign of a feature."""
    digest = hashlib.blake2b(feature.encode(), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return (number >> 1) % dimensions, 1.0 if number & 1 else -1.0


def pack(vector: list[float]) -> bytes:
    """A vector as little-endian floats of 32 bits."""
    return struct.pack(f"<{len(vector)}f", *vector)


def as_base64(vector: list[float]) -> str:
    """A vector as `encoding_format: base64` has it."""
    return base64.b64encode(pack(vector)).decode()
